/**
 * Observation text is hostile: a web page may contain `</observation><answer>…`, a chat template's end-of-turn string,
 * or either of them in disguise (full-width brackets, letters of other scripts, zero-width characters in between, HTML
 * entities). What the model reads must not look like structure. Every such place is rewritten to a harmless, readable
 * form, `‹answer›`; the rest of the text stays exactly as it was. Doing it twice changes nothing.
 */

/** Strings that mean something to widespread chat templates; `<|…|>` of any kind is always covered. */
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

/** Makes the function that neutralises text for these tags. */
export function neutraliser(tags: Iterable<string>): (text: string) => string {
  const own = [...tags].map(escapeRegExp).join("|");
  const names = `${own}|${templateNames.join("|")}`;
  // A tag: brackets tight around the name, closed or not; or with spaces and attributes, when closed.
  const pattern = new RegExp(
    [
      `<{1,2}\\s*/?\\s*(?:${names})(?![\\w-])[^<>]{0,80}?>{1,2}`,
      `<{1,2}/?(?:${own})(?![\\w-])`,
      "<\\|[^<>|]{0,80}\\|?>?",
      "\\[/?(?:inst|available_tools|tool_calls|tool_results|/?sys)\\]",
    ].join("|"),
    "g",
  );
  return (text) => {
    if (!suspicious.test(text)) return text;
    const { folded, positions } = fold(text);
    let result = "";
    let from = 0;
    for (const match of folded.matchAll(pattern)) {
      const start = positions[match.index] ?? 0;
      const end = positions[match.index + match[0].length] ?? text.length;
      if (start < from) continue;
      result += text.slice(from, start) + readable(match[0]);
      from = end;
    }
    return from === 0 ? text : result + text.slice(from);
  };
}

/** The text as a careless reader might see it: look-alikes and entities resolved, invisible characters gone, lower case. */
function fold(text: string): { folded: string; positions: number[] } {
  const positions: number[] = []; // [folded index] -> index in text
  let folded = "";
  const add = (piece: string, at: number) => {
    for (let index = 0; index < piece.length; index++) positions.push(at);
    folded += piece;
  };
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 38) {
      const entity = /^&(?:amp;)*(?:(lt|gt|sol|vert)|#0*(60|62|47|124)|#x0*(3c|3e|2f|7c));?/i.exec(
        text.slice(at, at + 40),
      );
      if (entity) {
        add(entityCharacter(entity), at);
        at += entity[0].length;
        continue;
      }
    }
    if (code < 128) {
      add(code >= 65 && code <= 90 ? String.fromCharCode(code + 32) : text.charAt(at), at);
      at++;
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(at)!);
    if (!invisible.test(character)) add(foldCharacter(character), at);
    at += character.length;
  }
  positions.push(text.length);
  return { folded, positions };
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
  return structure
    .replaceAll(/[<[]+/g, "‹")
    .replaceAll(/[>\]]+/g, "›")
    .replaceAll("|", "¦");
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
