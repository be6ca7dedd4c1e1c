/**
 * Pages that must not be found or read, because they hold a benchmark's answers: an agent that finds the dataset has
 * not found the answer itself. An entry is a domain (with its subdomains), a domain with the start of a path, or a word
 * in `*…*`. It is looked for anywhere in a text, whatever spelling, archive, reader or encoding the address comes in.
 */
import { ToolError } from "../../core/errors.ts";
import type { Tool } from "../../core/tool.ts";

/** Reads a blocklist; lines starting with `#` are comments. */
export function blocklist(entries: Iterable<string>) {
  const list = [...entries].map((entry) => entry.trim()).filter((entry) => entry !== "" && !entry.startsWith("#"));
  const rules = list.map((entry) => ({ entry, matches: matcher(entry) }));
  return {
    entries: list,
    /** Why a text that is or holds an address is blocked, or undefined. */
    refusal(text: string) {
      const plain = plainAddress(text);
      const rule = rules.find(({ matches }) => matches(plain));
      return rule && `blocked by the rule "${rule.entry}"`;
    },
  };
}

/** Pages that must not be found or read. */
export type Blocklist = ReturnType<typeof blocklist>;

/** Where questions and answers of the benchmarks we measure with are known to lie. */
export const benchmarkBlocklist: readonly string[] = [
  "huggingface.co",
  "hf.co",
  "hf-mirror.com",
  "modelscope.cn/datasets",
  "modelscope.ai/datasets",
  "kaggle.com/datasets",
  "openaipublic.blob.core.windows.net/simple-evals",
  "github.com/openai/simple-evals",
  "github.com/OPPO-PersonalAI",
  "paperswithcode.com/dataset",
  "*gaia-benchmark*",
  "*browsecomp*",
  "*webwalkerqa*",
  "lastexam.ai",
  "agi.safe.ai",
];

function matcher(entry: string): (plain: string) => boolean {
  const word = /^\*(.+)\*$/.exec(entry)?.[1]?.toLowerCase();
  if (word) return (plain) => plain.includes(word);
  const wanted = plainAddress(entry)
    .replace(/^[a-z]+:\/+(?:www\.)?|^www\./, "")
    .replace(/\/$/, "")
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // "myhf.co" and "hf.community" are other hosts; "www.hf.co", "hf.co:443" and "hf.co./x" are the same.
  const end = wanted.includes("/") ? "(?![\\p{L}\\p{N}_])" : "(?![\\p{L}\\p{N}_-]|\\.\\p{L})";
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_-])${wanted}${end}`, "u");
  return (plain) => pattern.test(plain);
}

/** Percent-encoding undone, repeatedly because encoding twice is the obvious trick; no port, no double slash, small letters. */
function plainAddress(text: string): string {
  let plain = text;
  for (let round = 0; round < 4 && /%[0-9a-f]{2}/i.test(plain); round++) {
    plain = plain.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
      try {
        return decodeURIComponent(encoded);
      } catch {
        return encoded;
      }
    });
  }
  return plain
    .toLowerCase()
    .replace(/(?<=[\p{L}\p{N}])\.?(?::\d{1,5})?(?=\/)/gu, "")
    .replace(/(?<=[^:/])\/{2,}/g, "/");
}

/** Tools that can neither be sent to blocked pages nor show them. */
export function withoutUrls(tools: readonly Tool[], entries: readonly string[] = benchmarkBlocklist): Tool[] {
  const list = blocklist(entries);
  return tools.map((tool) => ({
    ...tool,
    async execute(input, context) {
      const refusal = list.refusal(JSON.stringify(input) ?? "");
      if (refusal)
        throw new ToolError(
          tool.name,
          `this page may not be read during an evaluation (${refusal}); use another source`,
        );
      return withoutMentions(await tool.execute(input, context), list);
    },
  }));
}

/** What a tool returned without the parts that name blocked pages: list items, object fields, or lines of text. */
function withoutMentions(value: unknown, list: Blocklist): unknown {
  if (typeof value === "string") return list.refusal(value) === undefined ? value : cutBlocks(value, list);
  if (Array.isArray(value)) {
    return value
      .filter((item) => list.refusal(JSON.stringify(item) ?? "") === undefined)
      .map((item) => withoutMentions(item, list));
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutMentions(inner, list)]));
  }
  return value;
}

/**
 * Search results come as blocks set apart by empty lines: the whole block is removed, title and snippet with the
 * address.
 */
function cutBlocks(text: string, list: Blocklist): string {
  const blocks = text.split(/\n[^\S\n]*\n/);
  const kept = (parts: string[]) => parts.filter((part) => list.refusal(part) === undefined);
  if (blocks.length === 1) return kept(text.split("\n")).join("\n");
  return [...kept(blocks), "[results withheld: pages that may not be read during an evaluation]"].join("\n\n");
}
