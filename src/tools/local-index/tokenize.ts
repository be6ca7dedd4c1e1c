/**
 * Text to index terms: Unicode letters and digits, compatibility forms folded, lower case, accents removed. Scripts
 * written without spaces become overlapping pairs of characters. Plain ASCII, which is most text, takes a path that looks
 * at each character once; both paths give the same terms for it.
 */

/** Calls `emit` with each term of a text, in order. */
export function forEachTerm(text: string, emit: (term: string) => void): void {
  let start = -1;
  let upper = false;
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : 32;
    if (code > 127) {
      forEachUnicodeTerm(text.slice(start < 0 ? i : start), emit);
      return;
    }
    const kind = asciiKind[code]!;
    if (kind > 0) {
      if (start < 0) start = i;
      if (kind === 2) upper = true;
    } else if (start >= 0) {
      const term = text.slice(start, i);
      emit(upper ? term.toLowerCase() : term);
      start = -1;
      upper = false;
    }
  }
}

/** The terms of a text, in order. */
export function tokenize(text: string): string[] {
  const terms: string[] = [];
  forEachTerm(text, (term) => terms.push(term));
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

function forEachUnicodeTerm(text: string, emit: (term: string) => void): void {
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
        if (run.index > end) emit(part.slice(end, run.index));
        emitPairs(run[0], emit);
        end = run.index + run[0].length;
      }
      if (end < part.length) emit(part.slice(end));
    }
  }
}

function emitPairs(run: string, emit: (term: string) => void): void {
  const characters = [...run];
  if (characters.length === 1) emit(run);
  for (let i = 0; i + 1 < characters.length; i++) emit(characters[i]! + characters[i + 1]!);
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
