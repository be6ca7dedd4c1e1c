/**
 * Observation text is hostile: a web page may contain `</observation><answer>…`, a chat template's end-of-turn string,
 * or either of them in disguise (full-width brackets, letters of other scripts, zero-width characters in between, HTML
 * entities). What the model reads must not look like structure. Every such place is rewritten to a harmless, readable
 * form, `‹answer›`; the rest of the text stays exactly as it was. Doing it twice changes nothing.
 */

/** Strings that mean something to widespread chat templates, for models that do not tell theirs; `<|…|>` is always covered. */
const templateNames = ["s", "bos", "eos", "pad", "unk", "im_start", "im_end", "start_of_turn", "end_of_turn", "tool_call", "tool_response", "sys"]; // biome-ignore format: one list

const bracketLookalikes: Record<string, string> = {};
for (const open of "<＜﹤〈⟨˂ᐸ❮❬⧼") bracketLookalikes[open] = "<";
for (const close of ">＞﹥〉⟩˃ᐳ❯❭⧽") bracketLookalikes[close] = ">";
for (const slash of "/／∕⁄⧸╱⟋") bracketLookalikes[slash] = "/";
for (const bar of "|｜∣❘⏐ǀ￨") bracketLookalikes[bar] = "|";

/** Letters of other scripts that look like Latin ones. */
const letterLookalikes: Record<string, string> = {};
const lookalikePairs =
  "aаɑα bЬƅ cсϲ dԁɗ eеє fƒ gɡ hһ iіı jјϳ kκк lⅼӏ mм nոп oоοօ pрρ qԛ rгᴦ sѕꜱ tт uսυ vνѵ wԝѡ xхχ yуγ zᴢ"; // first letter: what it looks like
for (const pair of lookalikePairs.split(" ")) {
  const [latin = "", ...others] = pair;
  for (const other of others) letterLookalikes[other] = latin;
}

const invisible = /[\p{Cf}\p{Mn}\p{Me}\u115f\u1160\u3164\uffa0]/u;
const suspicious = /[<[\u0080-\uffff]|&(?:[lL]|#|[aA])/;

export interface NeutraliserOptions {
  /** Strings that the model in use reads as special tokens, as its tokenizer or its server names them. */
  specials?: Iterable<string>;
  /** Tags that are structure where the text stands, and stay. */
  kept?: Iterable<string>;
}

export function neutraliser(tags: Iterable<string>, options: NeutraliserOptions = {}): (text: string) => string {
  const kept = new Set(options.kept);
  const own = [...tags].map(escapeRegExp).join("|");
  const names = [...(own ? [own] : []), ...templateNames.filter((name) => !kept.has(name))].join("|");
  const { bracketed, others } = sortSpecials(options.specials ?? [], kept);
  // A tag: brackets tight around the name, closed or not; or with spaces and attributes, when closed.
  const pattern = new RegExp(
    [
      ...others.map(escapeRegExp),
      `<{1,2}\\s*(?:/\\s*)?(?:${names})(?![\\w-])[^<>]{0,80}?>{1,2}`,
      ...(own ? [`<{1,2}/?(?:${own})(?![\\w-])`] : []),
      "<\\|[^<>|]{0,80}\\|?>?",
      "\\[/?(?:inst|available_tools|tool_calls|tool_results|/?sys)\\]",
      ...(bracketed.size > 0 ? ["(?<shape><[^<>]{1,80}>|\\[[^\\[\\]]{1,80}\\])"] : []),
    ].join("|"),
    "g",
  );
  return (text) => {
    if (others.length === 0 && !suspicious.test(text)) return text;
    const { folded, placeOf } = fold(text);
    const pieces: string[] = []; // joined at the end: a text of many tags is not copied for each of them
    let from = 0;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(folded); match; match = pattern.exec(folded)) {
      const shape = match.groups?.["shape"];
      if (shape !== undefined && !bracketed.has(shape)) {
        pattern.lastIndex = match.index + 1; // one may begin inside of it
        continue;
      }
      const start = placeOf(match.index);
      if (start < from) continue;
      pieces.push(text.slice(from, start), readable(match[0]));
      from = placeOf(pattern.lastIndex);
    }
    return from === 0 ? text : pieces.join("") + text.slice(from);
  };
}

/** Special strings as a folded text has them; those in brackets are looked up, because some tokenizers have thousands. */
function sortSpecials(specials: Iterable<string>, kept: ReadonlySet<string>) {
  const bracketed = new Set<string>();
  const others = new Set<string>();
  for (const special of specials) {
    const folded = fold(special).folded;
    if (kept.has(/^<\/?([\w-]+)>$/.exec(special)?.[1] ?? "") || folded.trim().length < 3) continue;
    if (/^(?:<[^<>]{1,80}>|\[[^[\]]{1,80}\])$/.test(folded)) bracketed.add(folded);
    else if (/[^\p{L}\p{N}\s]/u.test(folded)) others.add(folded); // a word or white space is no structure
  }
  return { bracketed, others: [...others].sort((a, b) => b.length - a.length) };
}

const plainRun = /[\0-%'-\x7f]+/y;

/**
 * The text as a reader might see it: look-alikes and entities resolved, invisible characters gone, lower case.
 * `placeOf` gives the place in the text of a place in it; it is to be asked from front to back.
 */
function fold(text: string): { folded: string; placeOf(index: number): number } {
  const shifts: [index: number, shift: number][] = [[0, 0]]; // from this folded index on, the text's is so much higher
  const pieces: string[] = [];
  let length = 0;
  const add = (piece: string, at: number): void => {
    if (at - length !== shifts.at(-1)![1]) shifts.push([length, at - length]);
    // What one character became stays one place.
    for (let index = 1; index < piece.length; index++) shifts.push([length + index, at - length - index]);
    pieces.push(piece);
    length += piece.length;
  };
  for (let at = 0; at < text.length; ) {
    plainRun.lastIndex = at;
    const run = plainRun.exec(text)?.[0];
    if (run !== undefined) {
      if (at - length !== shifts.at(-1)![1]) shifts.push([length, at - length]);
      pieces.push(run.toLowerCase());
      length += run.length;
      at += run.length;
      continue;
    }
    if (text.charCodeAt(at) === 38) {
      const entity = /^&(?:amp;)*(?:(lt|gt|sol|vert)|#0*(60|62|47|124)|#x0*(3c|3e|2f|7c));?/i.exec(
        text.slice(at, at + 40),
      );
      add(entity ? entityCharacter(entity) : "&", at);
      at += entity?.[0].length ?? 1;
      continue;
    }
    const start = at;
    let folded: string | undefined;
    let end = at;
    // Characters that fold to themselves are taken over together.
    for (; end < text.length && text.charCodeAt(end) > 127; end += characterAt(text, end).length) {
      const character = characterAt(text, end);
      folded = folding(character);
      if (folded !== character) break;
      folded = undefined;
    }
    if (end > start) {
      if (start - length !== shifts.at(-1)![1]) shifts.push([length, start - length]);
      pieces.push(text.slice(start, end));
      length += end - start;
    }
    at = end;
    if (folded === undefined) continue;
    if (folded !== "") add(folded, at);
    at += characterAt(text, at).length;
  }
  shifts.push([length, text.length - length]);
  let known = 0;
  return {
    folded: pieces.join(""),
    placeOf(index) {
      while (known + 1 < shifts.length && shifts[known + 1]![0] <= index) known++;
      return index + shifts[known]![1];
    },
  };
}

const characterAt = (text: string, at: number): string => String.fromCodePoint(text.codePointAt(at)!);

const foldings = new Map<string, string>();

/** What a character folds to, the empty text where it can't be seen; remembered, up to a bound. */
function folding(character: string): string {
  let known = foldings.get(character);
  if (known === undefined) {
    known = invisible.test(character) ? "" : foldCharacter(character);
    if (foldings.size < 10_000) foldings.set(character, known);
  }
  return known;
}

function foldCharacter(character: string): string {
  const known = bracketLookalikes[character] ?? letterLookalikes[character];
  if (known !== undefined) return known;
  const plain = character.normalize("NFKC").toLowerCase();
  return bracketLookalikes[plain] ?? letterLookalikes[plain] ?? (plain.length === 0 ? character : plain);
}

function entityCharacter(entity: RegExpExecArray): string {
  const name = entity[1]?.toLowerCase();
  if (name) return { lt: "<", gt: ">", sol: "/", vert: "|" }[name] ?? "<";
  return String.fromCharCode(entity[2] ? Number(entity[2]) : Number.parseInt(entity[3]!, 16));
}

/** `‹` and `›` never fold to brackets, so what is written here is never found again. */
function readable(structure: string): string {
  const changed = structure.replaceAll(/[<[]+|[>\]]+|\|/g, (bracket) => harmless[bracket[0]!]!);
  return changed === structure ? `${structure[0]}·${structure.slice(1)}` : changed;
}

const harmless: Record<string, string> = { "<": "‹", "[": "‹", ">": "›", "]": "›", "|": "¦" };

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
