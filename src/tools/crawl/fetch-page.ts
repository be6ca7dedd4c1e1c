/**
 * Fetches one page: guarded connections, redirects followed one by one and checked again each time, limits of size and
 * time, and waiting where a server asks for it.
 */

import { pipeline, type Readable } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import { sleep } from "../../base/work/limiter.ts";
import { retryAfterMs, retryDelay } from "../../base/work/retry.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import { BlockedAddressError, type GuardedAgentOptions, guardedAgent } from "./guarded-agent.ts";
import { checkUrl } from "./host-policy.ts";

/** A page as it came over the wire, decompressed. */
export interface FetchedPage {
  /** Where it was found in the end, after redirects. */
  url: string;
  status: number;
  contentType: string;
  body: Uint8Array;
  /** The body was longer than the cap and was cut there. */
  truncated: boolean;
}

export type FetchPage = (url: string, options: { signal: AbortSignal }) => Promise<FetchedPage>;

export interface PageFetcherOptions extends GuardedAgentOptions {
  timeoutMs?: number;
  maxBytes?: number;
  /** Tries after a 429, a 5xx or a broken connection. */
  retries?: number;
}

const maxRedirects = 8;

/** Longest pause that a web server may ask for. */
const maxAskedMs = 10_000;

/** The `User-Agent` that web servers see. */
export const crawlerName = "chain-of-agents";

/** A fetcher with its own guarded connections, kept alive between pages. */
export function pageFetcher(options: PageFetcherOptions = {}): { fetchPage: FetchPage; close(): Promise<void> } {
  const agent = guardedAgent(options);
  const { timeoutMs = 30_000, retries = 1 } = options;

  async function fetchPage(url: string, { signal }: { signal: AbortSignal }): Promise<FetchedPage> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    for (let attempt = 0; ; attempt++) {
      const last = attempt >= retries;
      try {
        limited.throwIfAborted();
        const { page, askedMs } = await followRedirects(agent, url, options, limited);
        if (last || (page.status !== 429 && page.status < 500)) return page;
        await sleep(retryDelay(attempt, { retryAfterMs: askedMs && Math.min(askedMs, maxAskedMs) }), limited);
      } catch (error) {
        if (limited.aborted && !signal.aborted)
          throw new CoaError("network", `${url} took longer than ${timeoutMs} ms`, { retryable: true, cause: error });
        if (last || signal.aborted || error instanceof CoaError) throw labelled(url, error);
        await sleep(retryDelay(attempt, error), limited).catch(() => {});
      }
    }
  }

  return { fetchPage, close: () => agent.destroy() };
}

async function followRedirects(agent: Dispatcher, address: string, options: PageFetcherOptions, signal: AbortSignal) {
  const { maxBytes = 10_000_000 } = options;
  let target = address;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const checked = checkUrl(options, target);
    if ("refusal" in checked) throw new BlockedAddressError(checked.refusal);
    const { url } = checked;
    const response = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: "GET",
      headers: {
        "user-agent": `Mozilla/5.0 (compatible; ${crawlerName})`,
        accept: "text/html,application/xhtml+xml,application/pdf,text/plain,application/json;q=0.9,*/*;q=0.5",
        "accept-language": "en,*;q=0.5",
        "accept-encoding": "gzip, deflate, br",
      },
      signal,
    });
    const location = headerOf(response.headers, "location");
    if (response.statusCode >= 300 && response.statusCode < 400 && location !== undefined) {
      // Read off, within a limit, so that the connection can be used again.
      await response.body.dump({ limit: 16_384, signal });
      const next = URL.parse(location, url.href);
      if (!next)
        throw new CoaError("network", `${url.href} redirects to something that is not an address: ${location}`);
      target = next.href;
      continue;
    }
    const { bytes, truncated } = await readBody(
      response.body,
      headerOf(response.headers, "content-encoding"),
      maxBytes,
    );
    const page = {
      url: url.href,
      status: response.statusCode,
      contentType: headerOf(response.headers, "content-type") ?? "",
      body: bytes,
      truncated,
    };
    /** `askedMs`: how long the server asks to wait before the next try. */
    return { page, askedMs: retryAfterMs((name) => headerOf(response.headers, name)) };
  }
  throw new CoaError("network", `${address} redirected more than ${maxRedirects} times`);
}

function headerOf(headers: Record<string, string | string[] | undefined>, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function labelled(url: string, error: unknown): unknown {
  if (error instanceof CoaError || (error instanceof Error && error.name === "AbortError")) return error;
  return new CoaError("network", `could not fetch ${url}: ${messageOf(error)}`, { retryable: true, cause: error });
}

/**
 * Reads a response body, decompressed, up to a cap; `truncated` where it is longer. Decompression streams in small pieces, so a
 * few kilobytes that would decompress to gigabytes stop at the cap.
 */
export async function readBody(body: Readable, encoding: string | undefined, maxBytes: number) {
  // Cutting a body short makes it emit an error after everybody has stopped listening.
  body.on("error", () => {});
  const encodings = (encoding ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (encodings.length > 2) {
    body.destroy();
    throw new CoaError("network", `the content is encoded ${encodings.length} times over: ${encoding}`);
  }
  // Errors of any step surface in the loop below, on the last one.
  const steps = encodings.reverse().map(decompressor);
  const stream = steps.reduce<Readable>((source, step) => pipeline(source, step, () => {}), body);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let truncated = false;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      if (size + chunk.length > maxBytes) {
        chunks.push(chunk.subarray(0, maxBytes - size));
        size = maxBytes;
        truncated = true;
        break;
      }
      chunks.push(chunk);
      size += chunk.length;
    }
  } finally {
    stream.destroy();
    body.destroy();
  }
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
  return { bytes, truncated };
}

function decompressor(name: string) {
  const chunkSize = 64 * 1024;
  if (name === "gzip" || name === "x-gzip") return createGunzip({ chunkSize, finishFlush: constants.Z_SYNC_FLUSH });
  if (name === "deflate") return createInflate({ chunkSize, finishFlush: constants.Z_SYNC_FLUSH });
  if (name === "br") return createBrotliDecompress({ chunkSize });
  if (name === "zstd") return createZstdDecompress({ chunkSize });
  throw new CoaError("network", `the content's encoding is unknown: ${name}`);
}
