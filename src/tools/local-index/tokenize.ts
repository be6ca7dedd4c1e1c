/**
 * Text to index terms: Unicode letters and digits, compatibility forms folded, lower case, accents removed. Scripts
 * written without spaces become overlapping pairs of characters. Plain ASCII, which is most text, takes a path that looks
 * at each character once; both paths give the same terms for it.
 */
export interface TokenizeOptions {
  /** `light` joins singular and plural of English words (Harman's S stemmer); `none` keeps words as they are. */
  stemming?: "none" | "light";
}

/** Calls `emit` with each term of a text, in order. */
export function forEachTerm(text: string, options: TokenizeOptions, emit: (term: string) => void): void {
  const light = options.stemming === "light";
  let start = -1;
  let upper = false;
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : 32;
    if (code > 127) {
      forEachUnicodeTerm(text.slice(start < 0 ? i : start), light, emit);
      return;
    }
    const kind = asciiKind[code]!;
    if (kind > 0) {
      if (start < 0) start = i;
      if (kind === 2) upper = true;
    } else if (start >= 0) {
      let term = text.slice(start, i);
      if (upper) term = term.toLowerCase();
      emit(light ? stemLight(term) : term);
      start = -1;
      upper = false;
    }
  }
}

/** The terms of a text, in order. */
export function tokenize(text: string, options: TokenizeOptions = {}): string[] {
  const terms: string[] = [];
  forEachTerm(text, options, (term) => terms.push(term));
  return terms;
}

const asciiKind = new Uint8Array(128); // 0 separator, 1 digit or lower case, 2 upper case
for (let code = 0; code < 128; code++) {
  const character = String.fromCharCode(code);
  if (/[0-9a-z]/.test(character)) asciiKind[code] = 1;
  else if (/[A-Z]/.test(character)) asciiKind[code] = 2;
}

const word = /[\p{L}\p{N}\p{M}]+/gu;
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;

function forEachUnicodeTerm(text: string, light: boolean, emit: (term: string) => void): void {
  // Folding is done word by word: a compatibility form may itself contain a separator ("½" becomes "1⁄2").
  for (const [raw] of text.matchAll(word)) {
    const folded = raw
      .normalize("NFKD")
      .toLowerCase()
      .replace(/[\u0300-\u036f]+/g, "")
      .normalize("NFC");
    for (const [part] of folded.matchAll(word)) {
      let end = 0;
      for (const run of part.matchAll(unspaced)) {
        if (run.index > end) emit(stemIf(light, part.slice(end, run.index)));
        emitPairs(run[0], emit);
        end = run.index + run[0].length;
      }
      if (end < part.length) emit(stemIf(light, part.slice(end)));
    }
  }
}

function stemIf(light: boolean, term: string): string {
  return light ? stemLight(term) : term;
}

function emitPairs(run: string, emit: (term: string) => void): void {
  const characters = [...run];
  if (characters.length === 1) emit(run);
  for (let i = 0; i + 1 < characters.length; i++) emit(characters[i]! + characters[i + 1]!);
}

/** Harman's S stemmer: three rules that only remove plural endings, so it rarely joins words that differ in meaning. */
function stemLight(term: string): string {
  const length = term.length;
  if (length < 4 || term.charCodeAt(length - 1) !== 115) return term;
  if (term.endsWith("ies")) return /[ae]ies$/.test(term) ? term : `${term.slice(0, -3)}y`;
  if (term.endsWith("es")) return /[aeo]es$/.test(term) ? term : term.slice(0, -1);
  return /[us]s$/.test(term) ? term : term.slice(0, -1);
}

/** English words too common to help a query; they stay in the index and are dropped from queries that hold others. */
export const englishStopWords: ReadonlySet<string> = new Set(
  (
    "a about after all also am an and any are as at be because been before being between both but by can could did do " +
    "does during each for from had has have having he her here hers him his how i if in into is it its itself just me " +
    "more most my no nor not of off on once only or other our out over own s same she should so some such t than that " +
    "the their them then there these they this those through to too under until up very was we were what when where " +
    "which while who whom why will with would you your"
  ).split(" "),
);
