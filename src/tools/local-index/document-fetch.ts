/**
 * The user's documents as pages: `crawl_page` reads `coa://docs/…` addresses from an index and all others as it did
 * before.
 */
import { Buffer } from "node:buffer";
import { CoaError } from "../../core/errors.ts";
import type { FetchPage } from "../crawl/fetch-page.ts";
import type { IndexDocument } from "./build-index.ts";
import { documentScheme } from "./read-corpus.ts";

/** Anything that gives the passages of an address, at once or later. */
export interface Readable {
  read(url: string): IndexDocument[] | Promise<IndexDocument[]>;
}

/** A fetch that finds the addresses of an index there; without `next` it reads nothing else. */
export function documentFetch(index: Readable, next?: FetchPage): FetchPage {
  return async (url, options) => {
    const passages = await index.read(url);
    if (passages.length > 0) {
      const title = passages[0]?.title;
      const text = passages.map((passage) => passage.text).join("\n\n");
      const body = Buffer.from(title && !text.startsWith("#") ? `# ${title}\n\n${text}` : text);
      return { url, status: 200, contentType: "text/markdown; charset=utf-8", body, truncated: false };
    }
    if (next && !url.startsWith(documentScheme)) return next(url, options);
    throw new CoaError("tool", `there is no document at ${url}; use an address that a search gave`);
  };
}
