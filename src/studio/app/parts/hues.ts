/** Colours that mean something: an agent's role and a segment's tag have the same hue on every screen. */

const hues = new Map(
  Object.entries({
    manager: "violet",
    plan: "violet",
    planner: "violet",
    search: "blue",
    web_search: "blue",
    wiki_search: "blue",
    reader: "teal",
    crawl_page: "teal",
    code: "amber",
    python: "amber",
    code_execute: "amber",
    reflector: "rose",
    reflection: "rose",
    verifier: "green",
    double_check: "green",
    suggested_answer: "teal",
    answer: "green",
    think: "none",
    observation: "none",
    text: "none",
  }),
);
const spare = ["blue", "teal", "amber", "rose", "violet", "green"];

/** The name of the hue for a role or a tag; the same word always has the same one. */
export function hueOf(word: string): string {
  const known = hues.get(word) ?? hues.get(word.replace(/[_-]?agent$/, ""));
  if (known) return known;
  let sum = 0;
  for (let index = 0; index < word.length; index++) sum = (sum * 31 + word.charCodeAt(index)) >>> 0;
  return spare[sum % spare.length]!;
}
