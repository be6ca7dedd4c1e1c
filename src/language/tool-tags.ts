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

/** The tag of a tool's calls. */
export function tagOfTool(
  profile: Profile,
  tool: string,
  toolTagNames: Readonly<Record<string, string>> = {},
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
      if (tag) return tag;
    }
  }
  return undefined;
}
