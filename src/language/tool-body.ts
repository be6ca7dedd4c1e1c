/**
 * From a recorded tool call to the tag that would make it, and the body between the tags. The body must mean the same
 * input when the chain runtime reads it back, so plain values are written plainly and everything else as the recorded
 * JSON, byte for byte.
 */
import type { Profile, TagSpec } from "./profile.ts";
import { toolTags } from "./profile.ts";

/** Names under which other systems offer the tools of the built-in profiles. */
const aliases: readonly [RegExp, readonly string[]][] = [
  [/^(?:web_?search|search(?:_?web)?|google(?:_?search)?|internet_?search|duckduckgo.*|tavily.*|serper.*|brave_?search|lookup)$/, ["web_search", "wiki_search"]],
  [/^(?:wiki(?:pedia)?_?search|wikipedia|retrieve|search_?docs?)$/, ["wiki_search", "web_search"]],
  [/^(?:crawl(?:_?page)?|visit_?(?:web_?)?page|fetch(?:_?(?:url|page))?|open_?(?:url|page)|read_?(?:url|page)|browse|scrape)$/, ["crawl_page"]],
  [/^(?:code|python(?:_?interpreter)?|code_?interpreter|run_?(?:python|code)|execute_?(?:python|code)|exec)$/, ["code"]],
  [/^(?:visual_?inspector|inspect_?image|describe_?image|vision)$/, ["visual_inspector"]],
]; // biome-ignore format: a table

/** The tag of a tool's calls: as mapped by the user, by name, or by a name other systems use for it. */
export function tagOfTool(
  profile: Profile,
  tool: string,
  toolTagNames: Readonly<Record<string, string>> = {},
): TagSpec | undefined {
  const tags = toolTags(profile);
  const wanted = toolTagNames[tool];
  if (wanted !== undefined) return tags.find((tag) => tag.name === wanted);
  const own = tags.find((tag) => tag.tool === tool || tag.name === tool);
  if (own) return own;
  const plain = tool
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll("-", "_");
  for (const [pattern, names] of aliases) {
    if (!pattern.test(plain)) continue;
    for (const name of names) {
      const tag = tags.find((candidate) => candidate.name === name);
      if (tag) return tag;
    }
  }
  return undefined;
}

/** The arguments of a call as a value: JSON where it is JSON, the text itself otherwise. */
export function callArguments(text: string): unknown {
  try {
    return JSON.parse(text.trim() === "" ? "{}" : text);
  } catch {
    return text;
  }
}

/** The body that stands for these arguments. */
export function toolBody(tag: TagSpec, text: string): string {
  const input = callArguments(text);
  const value = onlyValue(input);
  switch (tag.body.kind) {
    case "urls": {
      // What else a foreign reader was told (a query, a depth) has no place in such a body.
      const found = value ?? addressIn(input);
      // An address twice in one call is read once.
      const urls = [...new Set(Array.isArray(found) ? found : [found])];
      const plain = urls.every((url) => typeof url === "string" && url !== "" && !/[\s|,]/.test(url));
      return plain ? urls.join("|") : text.trim();
    }
    case "code": {
      const { code, stdin } = programOf(input);
      if (code === undefined) return text.trim();
      if (tag.body.fence === null) return code.trim();
      const program = `\`\`\`${tag.body.fence}\n${code.replace(/\n+$/, "")}\n\`\`\``;
      return stdin === undefined || !tag.body.stdin ? program : `${program}\n\`\`\`sh\n${stdin}\n\`\`\``;
    }
    case "json":
      return `\`\`\`json\n${typeof input === "string" ? JSON.stringify({ input }) : text.trim()}\n\`\`\``;
    default:
      return typeof value === "string" && isPlain(value) ? value : text.trim();
  }
}

/** The value of an object with one field, a bare string, or undefined where one value is not all there is. */
function onlyValue(input: unknown): unknown {
  if (typeof input === "string") return input;
  if (input === null || typeof input !== "object" || Array.isArray(input)) return undefined;
  const values = Object.values(input);
  return values.length === 1 ? values[0] : undefined;
}

function addressIn(input: unknown): unknown {
  const entries = Object.entries((input ?? {}) as object);
  return entries.find(([name]) => /^(?:urls?|links?|href|address(?:es)?|pages?)$/i.test(name))?.[1];
}

/** Text that nobody would take for a fence, for JSON, or trim. */
function isPlain(value: string): boolean {
  return value !== "" && value === value.trim() && !/^[`~{["]/.test(value);
}

function programOf(input: unknown): { code?: string; stdin?: string } {
  if (typeof input === "string") return { code: input };
  const object = (input ?? {}) as Record<string, unknown>;
  const code = object["code"] ?? object["program"] ?? object["source"] ?? onlyValue(input);
  const stdin = object["stdin"] ?? object["input"];
  return {
    ...(typeof code === "string" && { code }),
    ...(typeof stdin === "string" && stdin !== code && { stdin }),
  };
}
