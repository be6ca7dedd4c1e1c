/** The guide's snippets, run through the package's public surface. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { memoryJournal } from "../../test/fixtures/memory-journal.ts";
import { guarded } from "../base/http/guard.ts";
import { cachedFetch } from "./crawl/cached-fetch.ts";
import { cachingExtractor } from "./crawl/extract-page.ts";
import { BlockedAddressError } from "./crawl/guarded-agent.ts";
import { isPublicAddress } from "./crawl/host-policy.ts";
import { politeFetch } from "./crawl/polite-fetch.ts";
import {
  buildIndex,
  crawlPage,
  indexProvider,
  openIndex,
  pageFetcher,
  webProvider,
  webSearch,
  wikiSearch,
} from "./index.ts";
import { indexWriter, loadIndex } from "./local-index/index-file.ts";
import { retrieveRoute } from "./local-index/retrieve-route.ts";
import { blocklist } from "./search/blocklist.ts";
import { cachedSearch, type SearchRecord } from "./search/cached-search.ts";
import { indexRetriever, retrievalClient } from "./search/wiki-search.ts";

const documents = [
  { id: "1", title: "Lyon", text: "Lyon is a city on the Rhône.", url: "https://example.org/lyon" },
  { id: "2", title: "Nice", text: "Nice is a city by the sea.", url: "https://example.org/nice" },
];
const context = { signal: new AbortController().signal };

describe("the public surface of the tools", () => {
  it("searches an index as the web, blocked pages left out, from a cache where there is one", async () => {
    const provider = cachedSearch(indexProvider(buildIndex(documents, { titleBoost: 3 })), {
      journal: memoryJournal<SearchRecord>(),
    });
    const tool = webSearch({ provider, count: 3, blocklist: blocklist(["example.org/nice"]) });
    assert.match(
      String(await tool.execute({ query: "city on the Rhône" }, context)),
      /^Found 1 results:[\s\S]*\[Lyon\]/,
    );
    await tool.execute({ query: "city on the Rhône" }, context);
    assert.throws(() => webProvider("serper"), /SERPER_API_KEY/);
  });

  it("saves an index, serves it, and searches it over the wire", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-surface-"));
    const writer = await indexWriter(join(folder, "index"));
    for (const document of documents) writer.add(document);
    await writer.finish();
    const loaded = await loadIndex(join(folder, "index"));
    const index = await openIndex(join(folder, "index"));
    const handle = guarded(
      { "POST /retrieve": retrieveRoute(index) },
      { errorBody: ({ message }) => ({ error: message }) },
    ).fetch;
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
      const answer = await handle(new Request(`http://localhost${request.url}`, { method: "POST", body }));
      response.writeHead(answer.status).end(await answer.text());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const expected = "Doc 1 (Title: Nice)\nNice is a city by the sea.";
    for (const retrieve of [retrievalClient({ url }), indexRetriever(index), indexRetriever(loaded)])
      assert.equal(await wikiSearch({ retrieve, topk: 1 }).execute({ query: "sea" }, context), expected);
    server.closeAllConnections();
    server.close();
    loaded.close();
    await index.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("reads pages of allowed hosts only", async () => {
    const server = createServer((_request, response) => response.end("<p>Hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const fetcher = pageFetcher({ allowHosts: [host], maxBytes: 5_000_000 });
    const fetchPage = cachedFetch(politeFetch(fetcher.fetchPage, { perHost: 2 }));
    const tool = crawlPage({ fetchPage, extract: cachingExtractor({ links: false }) });
    assert.match(String(await tool.execute({ urls: [`http://${host}/`] }, context)), /Hello$/);
    await assert.rejects(fetchPage("http://127.0.0.1:1/", context), BlockedAddressError);
    assert.equal(isPublicAddress("127.0.0.1"), false);
    await fetcher.close();
    server.closeAllConnections();
    server.close();
  });
});
