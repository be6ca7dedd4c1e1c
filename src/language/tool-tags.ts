/** Which tag of a profile makes a tool's calls: as mapped by the user, by name, or by a name other systems use for it. */
import type { Profile, TagSpec } from "../core/profile.ts";
import { tagNameOf, toolTags } from "./profile.ts";

/** Names under which other systems offer the tools of the built-in profiles. */
const aliases: readonly [RegExp, readonly string[]][] = [
  [/^(?:web_?search|search(?:_?web)?|google(?:_?search)?|internet_?search|duckduckgo.*|tavily.*|serper.*|brave_?search|lookup)$/, ["web_search", "wiki_search"]],
  [/^(?:wiki(?:pedia)?_?search|wikipedia|retrieve|search_?docs?)$/, ["wiki_search", "web_search"]],
  [/^(?:crawl(?:_?page)?|visit_?(?:web_?)?page|fetch(?:_?(?:url|page))?|open_?(?:url|page)|read_?(?:url|page)|browse|scrape)$/, ["crawl_page"]],
  [/^(?:code|python(?:_?interpreter)?|code_?interpreter|run_?(?:python|code)|execute_?(?:python|code)|exec)$/, ["code"]],
  [/^(?:visual_?inspector|inspect_?image|describe_?image|vision)$/, ["visual_inspector"]],
]; // biome-ignore format: a table

/**
 * The tag of a tool's calls. `input` is one of them: a program in another language than the tag's is not made one of its
 * calls, however the tool is called.
 */
export function tagOfTool(
  profile: Profile,
  tool: string,
  toolTagNames: Readonly<Record<string, string>> = {},
  input?: unknown,
): TagSpec | undefined {
  const tags = toolTags(profile);
  const wanted = toolTagNames[tool];
  if (wanted !== undefined) return tags.find((tag) => tag.name === wanted);
  const plain = tagNameOf(tool);
  const own = tags.find((tag) => tag.tool === tool || tag.name === tool || tag.name === plain);
  if (own) return own;
  for (const [pattern, names] of aliases) {
    if (!pattern.test(plain)) continue;
    for (const name of names) {
      const tag = tags.find((candidate) => candidate.name === name);
      if (tag) return tag.body.kind === "code" && !isPython(input) ? undefined : tag;
    }
  }
  return undefined;
}

/** Whether a program may be Python: by the language that the call names, or by the words of another one. */
function isPython(input: unknown): boolean {
  const { language, lang, code, program, source } = (typeof input === "object" ? (input ?? {}) : { code: input }) as Record<string, unknown>; // biome-ignore format: one list
  const named = language ?? lang;
  if (typeof named === "string") return /^py/i.test(named);
  const text = String(code ?? program ?? source ?? "");
  return !/\b(?:console\.log|require\(|function\s*\w*\s*\(|=>\s*[{(]?|(?:const|let|var)\s+[\w{[])/.test(text) || /^\s*(?:def|import|from|print)\b/m.test(text); // biome-ignore format: one condition
}
