import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { coa, coaWith } from "../../../test/fixtures/run-coa.ts";

let folder = "";
const saved = { ...process.env };

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-tools-"));
  process.env["COA_HOME"] = join(folder, "home");
  for (const name of Object.keys(process.env))
    if (/(_API_KEY|_API_BASE|SEARXNG_URL|SERPAPI_KEY)$/.test(name)) delete process.env[name];
  const passages = [
    { title: "Lyon", text: "Lyon is a city on the Rhône.", url: "https://example.org/lyon" },
    { title: "Nice", text: "Nice is a city by the sea.", url: "https://example.org/nice" },
  ];
  await writeFile(join(folder, "towns.jsonl"), passages.map((passage) => JSON.stringify(passage)).join("\n"));
});
after(async () => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, saved);
  await rm(folder, { recursive: true, force: true });
});

describe("coa index", () => {
  it("builds an index in the workspace and searches it", async () => {
    const built = await coa("index", "build", join(folder, "towns.jsonl"), "--json");
    const report = JSON.parse(built.stdout) as { folder: string; documentCount: number };
    assert.deepEqual([built.code, report.documentCount, report.folder], [0, 2, join(folder, "home", "index", "towns")]);
    const found = JSON.parse((await coa("show", report.folder, "city on the rhone", "--json")).stdout);
    assert.deepEqual(
      (found as { hits: { document: { title: string } }[] }).hits.map((hit) => hit.document.title),
      ["Lyon", "Nice"],
    );
    assert.match((await coa("show", report.folder, "sea")).stdout, /1\. Nice .*https:\/\/example\.org\/nice/);
  });

  it("says what is wrong and leaves nothing behind", async () => {
    await writeFile(join(folder, "bad.jsonl"), "{}\n");
    await assert.rejects(coa("index", "build", join(folder, "bad.jsonl")), /line 1: neither text nor contents/);
    await assert.rejects(coa("index", "build", join(folder, "bad.jsonl"), "--skip-bad"), /holds no documents/);
    await assert.rejects(
      coa("index", "build", join(folder, "towns.jsonl"), "--set", "index.b=2"),
      /a number from 0 to 1/,
    );
    await assert.rejects(coa("show", join(folder, "home", "index", "bad"), "x"), /bad is not a path, and nothing/);
  });

  it("serves the retrieval protocol until it is stopped", async () => {
    const stop = new AbortController();
    let answered: Promise<unknown> | undefined;
    const index = join(folder, "home", "index", "towns");
    const served = ["serve", "tools", "--index", index, "--tools", "wiki_search", "--port", "0"];
    const heard = (text: string) => {
      const origin = /^ready (http:\S+)$/m.exec(text)?.[1];
      if (origin === undefined) return;
      answered = fetch(`${origin}/retrieve`, { method: "POST", body: JSON.stringify({ queries: ["sea"], topk: 1 }) })
        .then((response) => response.json())
        .finally(() => stop.abort());
    };
    const { code } = await coaWith({ signal: stop.signal, heard }, ...served);
    assert.equal(code, 0);
    const { result } = (await answered) as { result: { title: string }[][] };
    assert.equal(result[0]![0]!.title, "Nice");
  });
});

describe("coa tools", () => {
  const index = () => join(folder, "home", "index", "towns");

  it("lists what is ready and what the rest needs", async () => {
    const listed = JSON.parse((await coa("tools", "--json")).stdout) as {
      name: string;
      ready: boolean;
      remedy?: string;
    }[];
    const states = Object.fromEntries(listed.map((state) => [state.name, state]));
    assert.equal(states["crawl_page"]!.ready, true);
    assert.equal(states["web_search"]!.ready, false);
    assert.match(states["web_search"]!.remedy!, /SERPER_API_KEY/);
    const indexed = await coa("tools", "--index", index());
    assert.match(indexed.stdout, /ready\s+web_search\s+index .*2 passages/);
  });

  it("tries a tool as a chain would call it", async () => {
    const searched = await coa("tools", "web_search", "city", "by", "the", "sea", "--index", index());
    assert.match(searched.stdout, /^Found 2 results:\n\n## Web Results\n1\. \[Nice\]/);
    const blocked = await coa("tools", "web_search", "city", "--index", index(), "--set", "tools.block=example.org");
    assert.match(blocked.stdout, /^No results found/);
    const wiki = await coa("tools", "wiki_search", "rhone", "--index", index());
    assert.equal(wiki.stdout, "Doc 1 (Title: Lyon)\nLyon is a city on the Rhône.\n");
  });

  it("crawls a private host only when it is allowed", async () => {
    const server = createServer((_request, response) => response.end("inside"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const refused = await coa("tools", "crawl_page", `http://${host}/`);
    assert.deepEqual([refused.code, /not a public address/.test(refused.stdout)], [1, true]);
    const allowed = await coa("tools", "crawl_page", `http://${host}/`, "--set", `tools.allowHosts=${host}`);
    assert.match(allowed.stdout, /inside/);
    server.closeAllConnections();
    server.close();
  });

  it("records what a search service answers and replays it without asking", async () => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked++;
      response.end(JSON.stringify({ results: [{ title: "Found", url: "https://a.org", content: "it" }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    process.env["SEARXNG_API_BASE"] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const first = await coa("tools", "web_search", "query");
    assert.match(first.stdout, /1\. \[Found\]/);
    server.closeAllConnections();
    server.close();
    delete process.env["SEARXNG_API_BASE"];
    const again = await coa("tools", "web_search", "Query", "--search", "searxng", "--set", "tools.replaySearches");
    assert.equal(again.stdout, first.stdout);
    const missing = await coa("tools", "web_search", "other", "--search", "searxng", "--set", "tools.replaySearches");
    assert.match(missing.stdout, /no recorded searxng answer for "other"/);
    assert.equal(asked, 1);
  });

  it("says what is wrong with a wrong use", async () => {
    await assert.rejects(coa("tools", "web_search"), /coa tools web_search needs what to ask it/);
    await assert.rejects(coa("tools", "dance", "now"), /there is no tool "dance"/);
    await assert.rejects(coa("tools", "web_search", "x"), /no search service; set one of/);
    await assert.rejects(coa("tools", "--search", "altavista"), /--search is one of/);
    await assert.rejects(coa("tools", "--tools", "web_search", "--search", "serper"), /SERPER_API_KEY/);
  });
});
