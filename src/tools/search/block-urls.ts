/**
 * Pages that may not be read during an evaluation, because they hold the benchmark's answers: an agent that finds the
 * dataset instead of the answer has shown nothing. Tools are wrapped: a call that names such a page is refused, and
 * mentions of it in what tools return are taken out, whatever spelling, proxy or encoding the address comes in.
 */
import { ToolError } from "../../core/errors.ts";
import type { Tool } from "../../core/tool.ts";

/** Where copies of benchmarks are known to lie. */
export const benchmarkHosts: readonly string[] = [
  "huggingface.co",
  "hf.co",
  "hf-mirror.com",
  "modelscope.cn/datasets",
  "modelscope.ai/datasets",
  "kaggle.com/datasets",
  "openaipublic.blob.core.windows.net/simple-evals",
  "github.com/openai/simple-evals",
  "github.com/OPPO-PersonalAI",
  "lastexam.ai",
  "paperswithcode.com/dataset",
];

/** Whether a text names a blocked page: `host` or `host/path`, subdomains included. */
export function namesBlockedUrl(text: string, blocked: readonly string[]): string | undefined {
  const plain = unfold(text).toLowerCase();
  return blocked.find((entry) => {
    const wanted = entry.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    // "myhf.co" and "hf.community" are other hosts; "www.hf.co", "hf.co:443" and "hf.co./x" are the same.
    const end = entry.includes("/") ? "(?![\\p{L}\\p{N}_])" : "(?![\\p{L}\\p{N}_-]|\\.\\p{L})";
    return new RegExp(`(?<![\\p{L}\\p{N}_-])${wanted}${end}`, "u").test(plain);
  });
}

/** Percent-encoding undone, repeatedly: encoding twice is the obvious trick. */
function unfold(text: string): string {
  let current = text;
  for (let round = 0; round < 4 && /%[0-9a-f]{2}/i.test(current); round++) {
    current = current.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
      try {
        return decodeURIComponent(encoded);
      } catch {
        return encoded;
      }
    });
  }
  return current;
}

/** Tools that can neither be sent to blocked pages nor show them. */
export function withoutUrls(tools: readonly Tool[], blocked: readonly string[] = benchmarkHosts): Tool[] {
  return tools.map((tool) => ({
    ...tool,
    async execute(input, context) {
      const found = namesBlockedUrl(JSON.stringify(input) ?? "", blocked);
      if (found) throw new ToolError(tool.name, `${found} may not be read during an evaluation; use another source`);
      return withoutMentions(await tool.execute(input, context), blocked);
    },
  }));
}

/** What a tool returned without the parts that name blocked pages: list items, object fields, or lines of text. */
function withoutMentions(value: unknown, blocked: readonly string[]): unknown {
  if (typeof value === "string")
    return namesBlockedUrl(value, blocked) === undefined ? value : cutBlocks(value, blocked);
  if (Array.isArray(value)) {
    return value
      .filter((item) => namesBlockedUrl(JSON.stringify(item) ?? "", blocked) === undefined)
      .map((item) => withoutMentions(item, blocked));
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutMentions(inner, blocked)]));
  }
  return value;
}

/** Search results come as blocks set apart by empty lines: the whole block goes, title and snippet with the address. */
function cutBlocks(text: string, blocked: readonly string[]): string {
  const blocks = text.split(/\n\s*\n/);
  const kept = blocks.filter((block) => namesBlockedUrl(block, blocked) === undefined);
  if (blocks.length > 1)
    return [...kept, "[results withheld: pages that may not be read during an evaluation]"].join("\n\n");
  return text
    .split("\n")
    .filter((line) => namesBlockedUrl(line, blocked) === undefined)
    .join("\n");
}
