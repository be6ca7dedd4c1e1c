/** A fetched page as text a model can read: HTML and its kin to Markdown, PDF to text, JSON and plain text as they are. */

import { CoaError, messageOf } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import { decodeText } from "./decode-text.ts";
import { type ArticleOptions, extractArticle } from "./extract-article.ts";
import { inExtractionThread } from "./extraction-thread.ts";
import type { FetchedPage } from "./fetch-page.ts";

export interface ExtractedPage {
  title: string;
  text: string;
}

export type ExtractPage = (page: FetchedPage) => Promise<ExtractedPage>;

/** Extracts the text of a page, whatever its type. */
export async function extractPage(page: FetchedPage, options: ArticleOptions = {}): Promise<ExtractedPage> {
  const kind = kindOf(page);
  if (kind === "pdf") return extractPdf(page);
  if (kind === "binary")
    throw new CoaError("tool", `${page.url} is ${page.contentType || "not text"}, which can't be read as text`);
  const text = decodeText(page.body, page.contentType);
  if (kind === "text") return { title: "", text: text.trim() };
  const { title, markdown } = await extractArticle(text, { url: page.url, ...options });
  return { title, text: markdown };
}

/** An extractor that remembers what it extracted, by address and content; equal pages are converted once. */
export function cachingExtractor(options: ArticleOptions = {}): ExtractPage {
  const cache = new Map<string, Promise<ExtractedPage>>();
  return (page) => {
    const key = `${page.url} ${page.contentType} ${fingerprint(page.body)}`;
    const known = cache.get(key);
    if (known) return known;
    const extracted = extractPage(page, options);
    cache.set(key, extracted);
    extracted.catch(() => cache.delete(key));
    if (cache.size > 2_000) cache.delete(cache.keys().next().value!);
    return extracted;
  };
}

type Kind = "html" | "text" | "pdf" | "binary";

/** What a page is: by its first bytes where they are plain, then by its type. */
function kindOf(page: FetchedPage): Kind {
  const type = page.contentType.split(";")[0]!.trim().toLowerCase();
  const start = Buffer.from(page.body.subarray(0, 1024)).toString("latin1");
  if (start.startsWith("%PDF-") || type === "application/pdf") return "pdf";
  if (/html|xml/.test(type)) return "html";
  if (/^\s*(?:<!--[\s\S]*?-->\s*)*<(?:!doctype html|html|head|body)\b/i.test(start)) return "html";
  if (type === "" && /^\s*<[a-z!?]/i.test(start)) return "html";
  if (/^text\/|json|javascript|yaml|csv|markdown|toml/.test(type)) return "text";
  // NUL bytes don't occur in text, except in UTF-16, which starts with a mark.
  if (start.includes("\0") && !/^(?:\xff\xfe|\xfe\xff)/.test(start)) return "binary";
  return /^(?:image|audio|video|font)\//.test(type) ? "binary" : "text";
}

async function extractPdf(page: FetchedPage): Promise<ExtractedPage> {
  if (page.truncated)
    throw new CoaError("tool", `${page.url} is a PDF of more than ${page.body.length} bytes: too large`);
  try {
    const { title, pages } = await inExtractionThread((thread) => thread.call("pdf", new Uint8Array(page.body)));
    return { title, text: pages.map((content, index) => `## Page ${index + 1}\n\n${content.trim()}`).join("\n\n") };
  } catch (error) {
    throw new CoaError("tool", `${page.url}: the PDF can't be read: ${messageOf(error)}`, { cause: error });
  }
}
