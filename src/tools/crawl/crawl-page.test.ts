import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { ChatModel, ChatRequest } from "../../core/model.ts";
import { cachedFetch } from "./cached-fetch.ts";
import { cleanUrl, crawlPage } from "./crawl-page.ts";
import { pageFetcher } from "./fetch-page.ts";
import { parseRobots, politeFetch } from "./polite-fetch.ts";
import { summarisePage } from "./summarise-page.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let base = "";
let sockets = 0;
let fetcher: ReturnType<typeof pageFetcher>;
const requests: string[] = [];
const signal = new AbortController().signal;
const html = (body: string, title = "A title") => `<!doctype html><title>${title}</title><body>${body}</body>`;
const send =
  (type: string, body: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(200, { "content-type": type, ...headers }).end(body);

const megabytes = 64;
const zeros = Buffer.alloc(megabytes * 1024 * 1024, 32);
const bomb = { gzip: gzipSync(zeros), br: brotliCompressSync(zeros) };
let tries = 0;

const answers: Record<string, Answer> = {
  "/plain": send("text/plain", "just text"),
  "/json": send("application/json", '{"a":1}'),
  "/html": send(
    "text/html",
    html("<nav>menu</nav><h1>Head</h1><p>One &amp; two <a href='/x'>there</a></p><script>no()</script>"),
  ),
  "/latin": send("text/html; charset=iso-8859-1", Buffer.from(html("caf\xe9 \xfcber"), "latin1")),
  "/meta": send("text/html", Buffer.from(`<meta charset="windows-1251">${"<p>"}\xcf\xf0\xe8\xe2\xe5\xf2`, "latin1")),
  "/sjis": send("text/html; charset=Shift_JIS", Buffer.from([0x93, 0xfa, 0x96, 0x7b])),
  "/undeclared": send("text/html", Buffer.from("<p>na\xefve r\xe9sum\xe9 fa\xe7ade</p>", "latin1")),
  "/utf16": send("text/html", Buffer.from(`\ufeff<p>wide</p>`, "utf16le")),
  "/gzip": send("text/html", gzipSync(html("zipped")), { "content-encoding": "gzip" }),
  "/br": send("text/html", brotliCompressSync(html("brotli")), { "content-encoding": "br" }),
  "/deflate": send("text/html", deflateSync(html("deflated")), { "content-encoding": "deflate" }),
  "/bomb-gzip": send("text/plain", bomb.gzip, { "content-encoding": "gzip" }),
  "/bomb-br": send("text/plain", bomb.br, { "content-encoding": "br" }),
  "/bomb-nested": send("text/plain", gzipSync(gzipSync(bomb.gzip)), { "content-encoding": "gzip, gzip, gzip" }),
  "/bomb-twice": send("text/plain", gzipSync(bomb.gzip), { "content-encoding": "gzip, gzip" }),
  "/loop": (_request, response) => response.writeHead(302, { location: "/loop" }).end(),
  "/moved": (_request, response) => response.writeHead(301, { location: "html#part" }).end(),
  "/gone": (_request, response) => response.writeHead(404).end("no"),
  "/busy": (_request, response) => {
    tries++;
    if (tries === 1) response.writeHead(503, { "retry-after": "0" }).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("at last");
  },
  "/silent": () => {},
  "/drip": (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain" }).write("a bit");
  },
  "/cut": (_request, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("x");
    setImmediate(() => response.destroy());
  },
  "/binary": send("application/octet-stream", Buffer.from([0, 1, 2, 3])),
  "/image": send("image/png", Buffer.from("\x89PNG\r\n")),
  "/robots.txt": send("text/plain", "User-agent: *\nDisallow: /html\n"),
};

before(async () => {
  server = createServer((request, response) => {
    requests.push(request.url!);
    (answers[request.url!] ?? answers["/gone"]!)(request, response);
  });
  server.on("connection", () => sockets++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = (server.address() as AddressInfo).port;
  base = `http://127.0.0.1:${port}`;
  fetcher = pageFetcher({ allowHosts: [`127.0.0.1:${port}`], maxBytes: 1_000_000 });
});

after(async () => {
  await fetcher.close();
  server.closeAllConnections();
  server.close();
});

const read = async (...paths: string[]): Promise<string> =>
  String(
    await crawlPage({ fetchPage: fetcher.fetchPage }).execute({ urls: paths.map((path) => base + path) }, { signal }),
  );

describe("crawlPage", () => {
  it("reads HTML as Markdown, without menus and scripts, and with absolute links", async () => {
    const text = await read("/html");
    assert.equal(text, `Page 1 [${base}/html]\n# Head\n\nOne & two [there](${base}/x)`);
  });

  it("reads plain text and JSON as they are, in any charset, compressed or not", async () => {
    assert.match(await read("/plain"), /just text$/);
    assert.match(await read("/json"), /\{"a":1\}$/);
    assert.match(await read("/latin"), /café über/);
    assert.match(await read("/meta"), /Привет/);
    assert.match(await read("/sjis"), /日本/);
    assert.match(await read("/undeclared"), /naïve résumé façade/);
    assert.match(await read("/utf16"), /wide$/);
    for (const word of ["gzip", "br", "deflate"]) assert.match(await read(`/${word}`), /zipped|brotli|deflated/);
  });

  it("reads several pages at once and says which could not be read", async () => {
    const text = await read("/plain", "/gone", "/moved");
    assert.match(
      text,
      /^Page 1 .*\njust text\n\nPage 2 .*\n\[Page content not accessible: HTTP 404\]\n\nPage 3 .*\n# Head/,
    );
  });

  it("fails as a tool when no page could be read", async () => {
    await assert.rejects(read("/gone"), /crawl_page: .*\/gone \[Page content not accessible: HTTP 404\]/);
    await assert.rejects(read("/loop"), /redirected more than 8 times/);
    await assert.rejects(read("/binary"), /can't be read as text/);
    await assert.rejects(read("/image"), /image\/png/);
    await assert.rejects(read("/cut"), /could not fetch/);
  });

  it("gives up on a server that does not answer, or does not end, in time", async () => {
    const hasty = pageFetcher({ allowHosts: [new URL(base).host], timeoutMs: 300 });
    for (const path of ["/silent", "/drip"])
      await assert.rejects(hasty.fetchPage(base + path, { signal }), /took longer than 300 ms/);
    await hasty.close();
  });

  it("tries once more when a server is busy", async () => {
    assert.match(await read("/busy"), /at last/);
    assert.equal(tries, 2);
  });

  it("stops decompressing at the cap", async () => {
    for (const path of ["/bomb-gzip", "/bomb-br", "/bomb-twice"]) {
      const before = process.memoryUsage().arrayBuffers;
      const page = await fetcher.fetchPage(base + path, { signal });
      assert.equal(page.body.length, 1_000_000, path);
      assert.equal(page.truncated, true);
      assert.ok(process.memoryUsage().arrayBuffers - before < 60_000_000, `${path} held too much memory`);
    }
    await assert.rejects(fetcher.fetchPage(`${base}/bomb-nested`, { signal }), /encoded 3 times/);
  });

  it("keeps connections alive", async () => {
    await read("/plain");
    const before = sockets;
    for (let i = 0; i < 50; i++) await read("/plain");
    assert.ok(sockets - before <= 1, `${sockets - before} new connections for 50 pages`);
  });

  it("refuses what the caller refuses, also after a redirect", async () => {
    const refusal = (url: string) => (url.endsWith("/html") ? "blocked by the benchmark's list" : undefined);
    const tool = crawlPage({ fetchPage: fetcher.fetchPage, refusal });
    for (const path of ["/html", "/moved"])
      await assert.rejects(async () => tool.execute({ urls: [base + path] }, { signal }), /blocked by the benchmark/);
  });

  it("stops when the caller aborts", async () => {
    const controller = new AbortController();
    const tool = crawlPage({ fetchPage: fetcher.fetchPage });
    const call = Promise.resolve(tool.execute({ urls: [`${base}/silent`] }, { signal: controller.signal }));
    controller.abort();
    await assert.rejects(call, { name: "AbortError" });
  });

  it("summarises with the question and the thought in mind, once per page and goal", async () => {
    const asked: ChatRequest[] = [];
    const model: ChatModel = {
      name: "reader",
      async chat(request) {
        asked.push(request);
        const usage = { promptTokens: 0, completionTokens: 0 };
        return { text: `reply ${asked.length}`, toolCalls: [], finish: "stop", usage };
      },
    };
    const tool = crawlPage({ fetchPage: fetcher.fetchPage, summarise: summarisePage({ model }) });
    const context = { signal, question: "Where is it?", thought: "The second page may tell." };
    const call = async () => tool.execute({ urls: [`${base}/html`] }, context);
    assert.equal(await call(), `Page 1 [${base}/html] Summary:\nreply 2`);
    assert.match(asked[0]!.messages[0]!.content, /The second page may tell/);
    assert.match(asked[1]!.messages[0]!.content, /Where is it\?[\s\S]*reply 1[\s\S]*One & two/);
    assert.equal(await call(), `Page 1 [${base}/html] Summary:\nreply 2`);
    assert.equal(asked.length, 2);
  });

  const pdf = "/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf";
  it("reads PDF", { skip: existsSync(pdf) ? false : "no PDF installed" }, async () => {
    answers["/pdf"] = send("application/pdf", readFileSync(pdf));
    const text = await read("/pdf");
    assert.match(text, /## Page 1/);
    assert.match(text, /Shared MIME-info Database/);
  });
});

describe("politeFetch", () => {
  it("keeps to robots.txt where asked to", async () => {
    const polite = politeFetch(fetcher.fetchPage, { robots: true });
    await assert.rejects(polite(`${base}/html`, { signal }), /robots\.txt of .* does not allow reading \/html/);
    requests.length = 0;
    assert.equal((await polite(`${base}/plain`, { signal })).status, 200);
    assert.deepEqual(requests, ["/plain"], "robots.txt is read once");
  });

  it("never has more requests under way to one host than allowed", async () => {
    let active = 0;
    let most = 0;
    const polite = politeFetch(
      async (url) => {
        most = Math.max(most, ++active);
        await new Promise((resolve) => setImmediate(resolve));
        active--;
        return { url, status: 200, contentType: "", body: new Uint8Array(), truncated: false };
      },
      { perHost: 3 },
    );
    await Promise.all(Array.from({ length: 20 }, (_, i) => polite(`https://one.example/${i}`, { signal })));
    assert.equal(most, 3);
  });
});

describe("cachedFetch", () => {
  const body = (size: number) => new Uint8Array(size);
  let fetched: string[] = [];
  let time = 0;
  const now = () => time;
  const source = async (url: string) => {
    fetched.push(url);
    await new Promise((resolve) => setImmediate(resolve));
    return { url, status: url.includes("bad") ? 500 : 200, contentType: "", body: body(100), truncated: false };
  };

  it("fetches a page once while it is fresh, also when many ask at once", async () => {
    const cached = cachedFetch(source, { maxAgeMs: 10, now });
    await Promise.all(Array.from({ length: 5 }, () => cached("a", { signal })));
    await cached("a", { signal });
    assert.deepEqual(fetched, ["a"]);
    time = 20;
    await cached("a", { signal });
    assert.deepEqual(fetched, ["a", "a"]);
  });

  it("keeps no error pages, and lets the least recently used go when it is full", async () => {
    fetched = [];
    const cached = cachedFetch(source, { maxBytes: 400, now });
    for (const url of ["bad", "bad", "a", "b", "c", "d", "a", "e", "a", "b"]) await cached(url, { signal });
    assert.deepEqual(fetched, ["bad", "bad", "a", "b", "c", "d", "e", "b"]);
  });
});

describe("parseRobots", () => {
  it("lets the longest rule of the crawler's own group decide", () => {
    const rules = parseRobots(
      "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: Chain-Of-Agents\nDisallow: /private # no\nAllow: /private/ok\nDisallow: /*.pdf$\nCrawl-delay: 2",
      "chain-of-agents",
    );
    const paths = ["/", "/private/x", "/private/ok/1", "/a.pdf", "/a.pdf?x"];
    assert.deepEqual(
      paths.map((path) => rules.isAllowed(path)),
      [true, false, true, false, true],
    );
    assert.equal(rules.crawlDelayMs, 2000);
    assert.equal(parseRobots("User-agent: *\nDisallow: /", "anybody").isAllowed("/x"), false);
    assert.equal(parseRobots("", "anybody").isAllowed("/x"), true);
  });
});

describe("cleanUrl", () => {
  it("finds the address in what a model writes", () => {
    for (const [text, expected] of [
      [" https://a.org/x ", "https://a.org/x"],
      ["[title](https://a.org/x_(y))", "https://a.org/x_(y)"],
      ["See https://a.org/x.", "https://a.org/x"],
      ["(https://a.org/x)", "https://a.org/x"],
      ["<https://a.org/x>", "https://a.org/x"],
      ["en.wikipedia.org/wiki/Lyon", "https://en.wikipedia.org/wiki/Lyon"],
      ["no address", undefined],
    ] as const)
      assert.equal(cleanUrl(text), expected);
  });
});
