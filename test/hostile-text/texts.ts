/** Hostile texts: a start, one motif repeated, an end; and two or three motifs one after another or in turn. */
import { seededRandom } from "../../src/base/work/random.ts";

const motifs = [
  "<", " ", "< ", "<<", "</", "<|", "|", "\n", "\n ", "\t", "a", "a ", "a_", "a-", "1", "1,", "1.", "1e", "-", "--", "/", "//", "/*", "#", "[", "]",
  "{", "}", "[{", "{'a':", "(", ")", "((", "\"", "'", "\\", "\\\"", "`", "```", "```\n", "~~~", "&", "&amp;", "&lt;", "&#", "%25", "%", "=", "a=", ":", "a:b@",
  "://", "http://", "http://a.b ", "www.", "a.", ".", ",", ";", "*", "**", "_", "!", "![", "](", "<a ", "<a href=\"", "<a href=x>", "<p>", "<div>",
  "<!--", "<![CDATA[", "<script>", "<table><tr><td>", "<li>", "<b>", "</p>", "<answer", "<answer>", "</answer>", "<think>x</think>", "<code>", "< answer ",
  "＜", "\u200b", "é", "😀", "\ud83d", "sk-", "sk-a", "eyJ", "eyJ-", "eyJa.", "Bearer ", "-----BEGIN PRIVATE KEY-----", "-----END", "token=", "cookie:",
  "$", "$$", "\\(", "\\boxed{", "\\frac{", "\\frac12", "\\sqrt", "\\text{", "\\left(", "^", "_{", "\\le ", "x=", "1+", "x", "\\cup", "\\{", "1 1/2 ",
  "score ", "score 1", "data:", "data: x\n\n", "True", "\r\n", "<ul><li>a ", "<form></x>", "<b></answer> ", "<b></x><p>", "<nav></x>",
  "://a:", "--token ", "password is ", "%3Ftoken%3D", "<token>", "bearer ", "token: ",
]; // biome-ignore format: a list

const starts = ["", "<", "```json\n", '{"a": "', "<answer", "[", "/*", "$", "\\boxed{", "-----BEGIN PRIVATE KEY-----"];
const ends = ["", "!", ">", "}", "\n```", '"]'];

/** What is only of interest after or between others: closings, separators, words of one reader's language. */
const companions = [
  "<ul>", "<ol>", "<li>", "<nav>", "</nav>", "</b>", "<b></b>", "<a href='x'></a>", "</a>", "</x>", "</code>", "<pre>", "</pre>", "<blockquote>", "<h1>", "<title>", "<td>",
  "<tr>", "<form>", "<svg>", "</script>", "-->", "]]>", "<main>", "</article>", "<a href='x'>", "<img alt=x>", "\\right)", "\\begin{pmatrix}",
  "\\end{pmatrix}", "\\\\", "\\sqrt{", "\\frac{1}{", "1/", "(1", "x^", "|x|", "'''", '"""', "//\n", "*/", ",]", "null,", "{a:", "[[", '{"a":',
  '"a",', "password=", "api_key:", "AKIA", "ghp_", "a@", "https://a:b@c ", "Authorization: ", "<observation>", "</observation>", "<|im_start|>",
  "yes", "\\n", "\u00a0", "\u2028", "\ufeff",
]; // biome-ignore format: a list

/** A text of any length, and what it is made of. */
export interface HostileText {
  name: string;
  make(length: number): string;
}

const fill = (motif: string, length: number) => motif.repeat(Math.ceil(length / motif.length)).slice(0, length);

/** Every motif repeated, with a start and an end that change from one motif to the next. */
export function repeatedMotifs(salt: number): HostileText[] {
  return motifs.map((motif, at) => {
    const start = starts[(at * 7 + salt) % starts.length]!;
    const end = ends[(at * 5 + salt) % ends.length]!;
    return {
      name: `${JSON.stringify(motif)} repeated after ${JSON.stringify(start)}`,
      make: (length) => start + fill(motif, length) + end,
    };
  });
}

/** Motifs met by chance: two or three of them, each for its share of the text, or in turn. */
export function mixedMotifs(count: number, seed: string): HostileText[] {
  const random = seededRandom(seed);
  const all = [...motifs, ...companions];
  const one = () => all[Math.floor(random.next() * all.length)]!;
  return Array.from({ length: count }, () => {
    const parts = random.next() < 0.6 ? [one(), one()] : [one(), one(), one()];
    const inTurn = random.next() < 0.5;
    return {
      name: `${JSON.stringify(parts)} ${inTurn ? "in turn" : "one after another"}`,
      make: (length) =>
        inTurn ? fill(parts.join(""), length) : parts.map((part) => fill(part, length / parts.length)).join(""),
    };
  });
}
