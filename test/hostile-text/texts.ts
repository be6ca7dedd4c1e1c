/** Hostile texts: a start, one motif repeated, an end. */
export const motifs = [
  "<", " ", "< ", "<<", "</", "<|", "|", "\n", "\n ", "\t", "a", "a ", "a_", "a-", "1", "1,", "1.", "1e", "-", "--", "/", "//", "/*", "#", "[", "]",
  "{", "}", "[{", "{'a':", "(", ")", "((", "\"", "'", "\\", "\\\"", "`", "```", "```\n", "~~~", "&", "&amp;", "&lt;", "&#", "%25", "%", "=", "a=", ":", "a:b@",
  "://", "http://", "http://a.b ", "www.", "a.", ".", ",", ";", "*", "**", "_", "!", "![", "](", "<a ", "<a href=\"", "<a href=x>", "<p>", "<div>",
  "<!--", "<![CDATA[", "<script>", "<table><tr><td>", "<li>", "<b>", "</p>", "<answer", "<answer>", "</answer>", "<think>x</think>", "<code>", "< answer ",
  "＜", "\u200b", "é", "😀", "\ud83d", "sk-", "sk-a", "eyJ", "eyJ-", "eyJa.", "Bearer ", "-----BEGIN PRIVATE KEY-----", "-----END", "token=", "cookie:",
  "$", "$$", "\\(", "\\boxed{", "\\frac{", "\\frac12", "\\sqrt", "\\text{", "\\left(", "^", "_{", "\\le ", "x=", "1+", "x", "\\cup", "\\{", "1 1/2 ",
  "score ", "score 1", "data:", "data: x\n\n", "True", "\r\n",
]; // biome-ignore format: a list

const starts = ["", "<", "```json\n", '{"a": "', "<answer", "[", "/*", "$", "\\boxed{", "-----BEGIN PRIVATE KEY-----"];
const ends = ["", "!", ">", "}", "\n```", '"]'];

/** A text of one size: the motif repeated, with a start and an end that change from one motif to the next. */
export function hostileText(at: number, salt: number, size: number): string {
  const motif = motifs[at]!;
  const start = starts[(at * 7 + salt) % starts.length]!;
  const end = ends[(at * 5 + salt) % ends.length]!;
  return start + motif.repeat(Math.ceil(size / motif.length)).slice(0, size) + end;
}
