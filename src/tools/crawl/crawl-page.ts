/** The crawl_page tool: reads web pages, several at once, and gives their text or a summary that follows the question. */

import { z } from "zod";
import { addressAlone } from "../../base/text/address-alone.ts";
import { isAbort, messageOf, ToolError } from "../../core/errors.ts";
import { defineTool, type Tool, type ToolContext } from "../../core/tool.ts";
import { cachingExtractor, type ExtractPage } from "./extract-page.ts";
import type { FetchPage } from "./fetch-page.ts";
import type { SummarisePage } from "./summarise-page.ts";

const input = z.object({ urls: z.array(z.string().min(1)).min(1) });

export interface CrawlPageOptions {
  /** How a page is fetched: `pageFetcher().fetchPage`, or a service of your own. */
  fetchPage: FetchPage;
  /** @internal */
  extract?: ExtractPage;
  /** Reads each page with the question in mind instead of giving its text. @internal */
  summarise?: SummarisePage;
  /** Why an address may not be read (a benchmark's answers), or undefined. */
  refusal?: (url: string) => string | undefined;
  maxCharacters?: number;
  timeoutMs?: number;
}

/** Addresses beyond this many in one call are left out, and the observation says so. */
const maxUrls = 10;

/** Reads one or several web pages. */
export function crawlPage(options: CrawlPageOptions): Tool<z.infer<typeof input>> {
  const { timeoutMs = 120_000 } = options;
  const extract = options.extract ?? cachingExtractor();
  return defineTool({
    name: "crawl_page",
    description: "Read the main text of one or several web pages.",
    input,
    timeoutMs,
    async run({ urls }, context) {
      const wanted = [...new Set(urls.map((text) => cleanUrl(text) ?? text.trim()))];
      const read = await Promise.all(wanted.slice(0, maxUrls).map((url) => readOne(url, extract, options, context)));
      if (read.every((page) => !page.ok)) {
        throw new ToolError("crawl_page", read.map((page) => `${page.url} ${page.text}`).join("\n"));
      }
      const heading = options.summarise ? " Summary:" : "";
      const pages = read.map((page, index) => `Page ${index + 1} [${page.url}]${page.ok ? heading : ""}\n${page.text}`);
      if (wanted.length > maxUrls) pages.push(`(${wanted.length - maxUrls} more addresses were not read.)`);
      return pages.join("\n\n");
    },
  });
}

async function readOne(
  url: string,
  extract: ExtractPage,
  options: CrawlPageOptions,
  context: ToolContext,
): Promise<{ url: string; ok: boolean; text: string }> {
  const { maxCharacters = 20_000 } = options;
  const inaccessible = (reason: string) => ({ url, ok: false, text: `[Page content not accessible: ${reason}]` });
  try {
    const refusal = options.refusal?.(url);
    if (refusal) return inaccessible(refusal);
    const fetched = await options.fetchPage(url, { signal: context.signal });
    // A redirect may lead to what was refused by name.
    const refusedThere = fetched.url === url ? undefined : options.refusal?.(fetched.url);
    if (refusedThere) return inaccessible(refusedThere);
    if (fetched.status >= 400) return inaccessible(`HTTP ${fetched.status}`);
    const { title, text } = await extract(fetched);
    if (text === "") return inaccessible("the page holds no text");
    if (options.summarise) {
      return { url, ok: true, text: await options.summarise({ url: fetched.url, title, text }, context) };
    }
    const headed = title && !text.startsWith("# ") ? `# ${title}\n\n${text}` : text;
    const cut = headed.length - maxCharacters;
    return { url, ok: true, text: cut > 0 ? `${headed.slice(0, maxCharacters)}\n[… ${cut} more characters]` : headed };
  } catch (error) {
    if (isAbort(error) || context.signal.aborted) throw error;
    return inaccessible(messageOf(error));
  }
}

/** The first web address in a text; a bare domain counts. Undefined when there is none. */
export function cleanUrl(text: string): string | undefined {
  const markdown = /\]\(\s*<?((?:https?|coa):\/\/[^\s>]+)/i.exec(text)?.[1];
  const found = markdown ?? /(?:https?|coa):\/\/[^\s<>"'`|]+/i.exec(text)?.[0];
  if (found) return addressAlone(found);
  const bare = /^\s*((?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:\/[^\s<>"']*)?)\s*$/i.exec(text)?.[1];
  return bare ? `https://${bare}` : undefined;
}
