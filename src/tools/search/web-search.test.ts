import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { memoryJournal } from "../../../test/fixtures/memory-journal.ts";
import { buildIndex } from "../local-index/build-index.ts";
import { benchmarkBlocklist, blocklist } from "./blocklist.ts";
import { cachedSearch, type SearchRecord } from "./cached-search.ts";
import { indexProvider, snippetOf } from "./index-provider.ts";
import { keyPool } from "./request-json.ts";
import { webProvider, webProviderFromEnvironment, webProviderNames } from "./web-providers.ts";
import { type SearchProvider, webSearch } from "./web-search.ts";
import { indexRetriever, retrievalClient, wikiSearch } from "./wiki-search.ts";

interface Seen {
  method: string;
  url: URL;
  headers: Record<string, unknown>;
  body: { queries: string[] } & Record<string, unknown>;
}

let server: Server;
let base = "";
const seen: Seen[] = [];
/** Answers given in turn; the last one stays. */
let answers: { status?: number; headers?: Record<string, string>; body: unknown }[] = [];
const signal = new AbortController().signal;

before(async () => {
  server = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const text = Buffer.concat(chunks).toString();
    seen.push({
      method: request.method!,
      url: new URL(request.url!, base),
      headers: request.headers,
      body: text === "" ? undefined : JSON.parse(text),
    });
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    const body = typeof answer.body === "function" ? answer.body(seen.at(-1)) : answer.body;
    response
      .writeHead(answer.status ?? 200, answer.headers)
      .end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  seen.length = 0;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const item = { title: "T <b>one</b>", snippet: "S &amp; more", link: "https://a.org/1", date: "Jan 1", source: "A" };
const wire: Record<string, unknown> = {
  serper: { organic: [item], knowledgeGraph: {} },
  serpapi: { organic_results: [item] },
  brave: {
    web: {
      results: [{ title: item.title, url: item.link, description: item.snippet, age: "Jan 1", profile: { name: "A" } }],
    },
  },
  tavily: {
    results: [{ title: item.title, url: item.link, content: item.snippet, published_date: "Jan 1", score: 1 }],
  },
  exa: { results: [{ title: item.title, url: item.link, text: item.snippet, publishedDate: "Jan 1", author: "A" }] },
  searxng: { results: [{ title: item.title, url: item.link, content: item.snippet, publishedDate: "Jan 1" }] },
};

describe("webProvider", () => {
  it("asks each service as it wants to be asked and reads its answer", async () => {
    assert.deepEqual(Object.keys(wire).sort(), [...webProviderNames].sort());
    for (const name of webProviderNames) {
      answers = [{ body: wire[name] }];
      const provider = webProvider(name, { keys: "k1", endpoint: `${base}/x` });
      const [result, ...rest] = await provider.search("the query", { count: 5, signal });
      assert.deepEqual(rest, []);
      assert.equal(result!.title, "T one");
      assert.equal(result!.url, "https://a.org/1");
      assert.equal(result!.snippet, "S & more");
      assert.equal(result!.date, "Jan 1");
    }
    const [serper, serpapi, brave, tavily, exa, searxng] = webProviderNames.map((_, i) => seen[i]!);
    assert.deepEqual([serper!.headers["x-api-key"], serper!.body], ["k1", { q: "the query", num: 5 }]);
    assert.deepEqual(
      ["engine", "q", "num", "api_key"].map((key) => serpapi!.url.searchParams.get(key)),
      ["google", "the query", "5", "k1"],
    );
    assert.deepEqual([brave!.headers["x-subscription-token"], brave!.url.searchParams.get("count")], ["k1", "5"]);
    assert.deepEqual([tavily!.headers["authorization"], tavily!.body.max_results], ["Bearer k1", 5]);
    assert.deepEqual([exa!.headers["x-api-key"], exa!.body.numResults], ["k1", 5]);
    assert.deepEqual([searxng!.url.pathname, searxng!.url.searchParams.get("format")], ["/x/search", "json"]);
  });

  it("tries again when told to, and moves on to the next key when one is refused", async () => {
    answers = [
      { status: 429, headers: { "retry-after": "0" }, body: "slow down" },
      { status: 503, body: "later" },
      { status: 401, body: "bad key" },
      { body: wire["serper"] },
    ];
    const provider = webProvider("serper", { keys: "a|b|c", endpoint: base, backOffMs: 1 });
    assert.equal((await provider.search("q", { count: 1, signal })).length, 1);
    const used = seen.map((request) => request.headers["x-api-key"]);
    assert.equal(used.length, 4);
    assert.equal(new Set(used.slice(0, 3)).size, 3, "each key is tried before one is used again");
    assert.notEqual(used[3], used[2], "a refused key is not used again");
  });

  it("says what the service said when it can't go on", async () => {
    answers = [{ status: 400, body: "no such parameter" }];
    const provider = webProvider("brave", { keys: "a", endpoint: base, backOffMs: 1 });
    await assert.rejects(
      provider.search("q", { count: 1, signal }),
      /brave refused the request: GET \S+ HTTP 400: no such parameter/,
    );
    answers = [{ status: 403, body: "revoked" }];
    await assert.rejects(
      provider.search("q", { count: 1, signal }),
      /every API key was refused \(GET \S+ HTTP 403: revoked\)/,
    );
    answers = [{ status: 500, body: "down" }];
    const patient = webProvider("exa", { keys: "a", endpoint: base, backOffMs: 1, retries: 2 });
    seen.length = 0;
    await assert.rejects(
      patient.search("q", { count: 1, signal }),
      /exa did not answer after 3 tries \(POST \S+ HTTP 500: down\)/,
    );
    assert.equal(seen.length, 3);
    answers = [{ status: 403, body: "no" }];
    await assert.rejects(
      webProvider("searxng", { endpoint: base }).search("q", { count: 1, signal }),
      /add json to search\.formats/,
    );
    answers = [{ body: "<html>" }];
    await assert.rejects(patient.search("q", { count: 1, signal }), /not JSON/);
  });

  it("is chosen by what the environment holds", () => {
    assert.equal(webProviderFromEnvironment({}), undefined);
    assert.equal(webProviderFromEnvironment({ EXA_API_KEY: "x", TAVILY_API_KEY: "y" })!.name, "tavily");
    assert.equal(webProviderFromEnvironment({ EXA_API_KEY: "x", TAVILY_API_KEY: "y" }, "exa")!.name, "exa");
    assert.equal(webProviderFromEnvironment({ SEARXNG_API_BASE: "http://localhost:8080" })!.name, "searxng");
    assert.throws(() => webProviderFromEnvironment({}, "serper"), /set SERPER_API_KEY/);
  });
});

describe("webSearch", () => {
  const results = [
    {
      title: "One",
      url: "https://one.org/a",
      snippet: "first. Your browser can't play this video.",
      date: "2024",
      source: "Site",
    },
    { title: "One again", url: "https://one.org/a#part", snippet: "same page" },
    { title: "Data", url: "https://huggingface.co/datasets/x", snippet: "the answers" },
    { title: "Two", url: "https://two.org/", snippet: "second" },
  ];
  const provider: SearchProvider = { name: "fixed", search: async (query) => (query === "none" ? [] : results) };

  it("writes results in the paper's format, without doubles and blocked pages", async () => {
    const tool = webSearch({ provider, blocklist: blocklist(benchmarkBlocklist) });
    assert.equal(
      await tool.execute({ query: "q" }, { signal }),
      "Found 2 results:\n\n## Web Results\n1. [One](https://one.org/a)\nDate published: 2024\nSource: Site\nhttps://one.org/a\nfirst.\n\n" +
        "2. [Two](https://two.org/)\nhttps://two.org/\nsecond",
    );
    assert.equal(
      await tool.execute({ query: "none" }, { signal }),
      "No results found for query: 'none'. Use a less specific query.",
    );
  });

  it("searches the local index, with the telling part of each passage", async () => {
    const text = `${"filler ".repeat(100)}the bridge of Avignon stands ${"filler ".repeat(100)}`;
    const index = buildIndex([{ id: "1", title: "Bridges", text, url: "https://x.org/1" }]);
    const output = String(
      await webSearch({ provider: indexProvider(index) }).execute({ query: "Avignon bridge" }, { signal }),
    );
    assert.match(output, /1\. \[Bridges\]\(https:\/\/x\.org\/1\)[\s\S]*… .*bridge of Avignon.* …/);
    assert.equal(snippetOf("short text", "text", 50), "short text");
  });
});

describe("cachedSearch", () => {
  it("asks once, remembers across processes, and can run from memory alone", async () => {
    const records: SearchRecord[] = [];
    let asked = 0;
    const provider: SearchProvider = {
      name: "p",
      async search(query) {
        asked++;
        await new Promise((resolve) => setImmediate(resolve));
        return [{ title: query, url: "https://x.org", snippet: String(asked) }];
      },
    };
    const first = cachedSearch(provider, { journal: memoryJournal(records) });
    const both = await Promise.all([
      first.search("A  b", { count: 3, signal }),
      first.search("a b", { count: 3, signal }),
    ]);
    assert.deepEqual(both[0], both[1]);
    assert.equal(asked, 1);
    await first.search("a b", { count: 3, signal });
    assert.equal(asked, 1);

    const replay = cachedSearch(provider, { journal: memoryJournal(records), mode: "replay" });
    assert.deepEqual(await replay.search("a B", { count: 3, signal }), both[0]);
    await assert.rejects(replay.search("other", { count: 3, signal }), /no recorded p answer for "other"/);
    assert.equal(asked, 1);
  });

  it("does not let one caller's abort fail another", async () => {
    const controller = new AbortController();
    let asked = 0;
    const provider: SearchProvider = {
      name: "p",
      search: (query, options) =>
        new Promise((resolve, reject) => {
          if (asked++ > 0) resolve([{ title: query, url: "https://x.org", snippet: "" }]);
          options.signal.addEventListener("abort", () => reject(options.signal.reason));
        }),
    };
    const cached = cachedSearch(provider, { journal: memoryJournal<SearchRecord>() });
    const one = cached.search("q", { count: 1, signal: controller.signal });
    const two = cached.search("q", { count: 1, signal });
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await assert.rejects(one, { name: "AbortError" });
    assert.equal((await two).length, 1);
  });
});

describe("wikiSearch", () => {
  it("reads passages from a retrieval server, again where it is starting", async () => {
    const found = (query: string) => [{ document: { contents: `"Title ${query}"\nText of ${query}` }, score: 1.5 }];
    answers = [{ status: 502, body: "starting" }, { body: ({ body }: Seen) => ({ result: body.queries.map(found) }) }];
    const tool = wikiSearch({ retrieve: retrievalClient({ url: base, backOffMs: 1 }), topk: 1 });
    assert.equal(await tool.execute({ query: "a" }, { signal }), "Doc 1 (Title: Title a)\nText of a");
    assert.deepEqual(
      seen.map((request) => request.body),
      Array(2).fill({ queries: ["a"], topk: 1, return_scores: true }),
    );
    assert.equal(seen[0]!.url.pathname, "/retrieve");
  });

  it("says when the server does not keep to its protocol", async () => {
    answers = [{ body: { result: [] } }];
    const tool = wikiSearch({ retrieve: retrievalClient({ url: `${base}/retrieve`, backOffMs: 1 }) });
    await assert.rejects(async () => tool.execute({ query: "x" }, { signal }), /did not answer in its protocol/);
  });

  it("reads passages from an index in the process", async () => {
    const index = buildIndex([
      { id: "1", title: "Lyon", text: "A city." },
      { id: "2", title: "Nice", text: "Another city." },
    ]);
    const tool = wikiSearch({ retrieve: indexRetriever(index), topk: 3 });
    assert.equal(await tool.execute({ query: "lyon" }, { signal }), "Doc 1 (Title: Lyon)\nA city.");
    assert.match(String(await tool.execute({ query: "zzz" }, { signal })), /^No results found/);
  });
});

describe("keyPool", () => {
  it("takes keys in turn, rests those told to and drops those refused", () => {
    let time = 0;
    const pool = keyPool("a|b, c", () => time);
    assert.deepEqual([pool.next(), pool.next(), pool.next(), pool.next()], ["a", "b", "c", "a"]);
    pool.rest("b", 100);
    assert.deepEqual([pool.next(), pool.next(), pool.next()], ["c", "a", "c"]);
    time = 200;
    pool.refuse("a");
    assert.deepEqual(new Set([pool.next(), pool.next()]), new Set(["b", "c"]));
    pool.refuse("b");
    pool.refuse("c");
    assert.equal(pool.next(), undefined);
  });
});
