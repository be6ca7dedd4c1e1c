import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { guarded } from "../../base/http/guard.ts";
import { buildIndex, type IndexDocument } from "./build-index.ts";
import { indexWriter, loadIndex } from "./index-file.ts";
import { openIndex } from "./open-index.ts";
import type { IndexOptions } from "./postings-builder.ts";
import { retrieveRoute } from "./retrieve-route.ts";

let folder = "";
const syllables = ["ka", "lo", "mi", "ré", "tu", "ze", "東", "nö"];

function corpus(size: number): IndexDocument[] {
  let state = 7;
  const next = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const word = () => Array.from({ length: 1 + next(3) }, () => syllables[next(syllables.length)]).join("");
  const words = (count: number) => Array.from({ length: count }, word).join(" ");
  return Array.from({ length: size }, (_, i) => ({
    id: `d${i}`, title: words(2), text: words(5 + next(40)), url: `https://example.org/${i}`,
  })); // biome-ignore format: short
}

async function save(path: string, documents: IndexDocument[], options: IndexOptions = {}) {
  const writer = await indexWriter(path, options);
  for (const document of documents) writer.add(document);
  return writer.finish();
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-index-"));
});
after(() => rm(folder, { recursive: true, force: true }));

const queries = ["ka lo", "mitu", "東ka réze", "the", "nö zetu kalo mi", "absent words"];

describe("a saved index", () => {
  it("answers exactly as the one in memory, here and from a worker", async () => {
    const documents = corpus(800);
    for (const options of [{}, { titleBoost: 3, k1: 0.9, b: 0.4 }]) {
      const memory = buildIndex(documents, options);
      const report = await save(join(folder, "one"), documents, options);
      assert.equal(report.documentCount, 800);
      const loaded = await loadIndex(join(folder, "one"));
      const opened = await openIndex(join(folder, "one"));
      assert.equal(opened.size, 800);
      for (const query of queries) {
        const expected = memory.search(query, 7);
        assert.deepEqual(loaded.search(query, 7), expected, query);
        assert.deepEqual(await opened.search(query, 7), expected, query);
      }
      assert.deepEqual(
        await opened.searchAll(queries, 3),
        queries.map((query) => memory.search(query, 3)),
      );
      loaded.close();
      await opened.close();
    }
  });

  it("replaces an older one whole and leaves nothing else behind", async () => {
    await save(join(folder, "two"), corpus(10));
    await save(join(folder, "two"), corpus(5));
    const writer = await indexWriter(join(folder, "two"));
    writer.add({ id: "x", text: "given up" });
    await writer.discard();
    const names = (await readdir(folder)).filter((name) => name.startsWith("two"));
    assert.deepEqual(names, ["two"]);
    const loaded = await loadIndex(join(folder, "two"));
    assert.equal(loaded.size, 5);
    loaded.close();
  });

  it("says what is wrong with a folder that holds something else, is cut short, or is of another version", async () => {
    await assert.rejects(openIndex(join(folder, "nothing")), /is not an index/);
    const path = join(folder, "three");
    await save(path, corpus(50));
    await truncate(join(path, "index.bin"), 100);
    await assert.rejects(loadIndex(path), /build the index again/);
    const opened = await openIndex(path);
    await assert.rejects(opened.search("ka"), /build the index again/);
    await opened.close();
    const header = JSON.parse(await readFile(join(path, "index.json"), "utf8"));
    await writeFile(join(path, "index.json"), JSON.stringify({ ...header, version: 99 }));
    await assert.rejects(openIndex(path), /has format 99/);
  });

  it("answers again after its thread was ended", async () => {
    const path = join(folder, "four");
    await save(path, corpus(20));
    const opened = await openIndex(path);
    const [first] = await opened.search("ka", 1);
    await opened.close();
    assert.deepEqual(await opened.search("ka", 1), [first]);
    await opened.close();
  });
});

describe("retrieveRoute", () => {
  const documents = [
    { id: "1", title: "Lyon", text: "A city on the Rhône.", url: "https://example.org/lyon" },
    { id: "2", title: "Rhône", text: "A river in France.", url: "https://example.org/rhone" },
  ];
  const handler = guarded(
    { "POST /retrieve": retrieveRoute(buildIndex(documents), { topk: 1 }) },
    { errorBody: ({ message }) => ({ error: message }) },
  ).fetch;
  const post = (body: unknown) =>
    handler(
      new Request("http://127.0.0.1/retrieve", {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    );

  it("answers in the retrieval server's format, with and without scores", async () => {
    const plain = await (await post({ queries: ["river", "nothing at all"] })).json();
    assert.deepEqual(plain, { result: [[{ ...documents[1], contents: "Rhône\nA river in France." }], []] });
    const scored = await (await post({ queries: ["rhone"], topk: 2, return_scores: true })).json();
    const found = (scored as { result: { document: { id: string }; score: number }[][] }).result[0]!;
    assert.deepEqual(
      found.map((hit) => hit.document.id),
      ["2", "1"],
    );
    assert.ok(found[0]!.score > found[1]!.score);
  });

  it("says what is wrong with a request", async () => {
    assert.equal((await post("{")).status, 400);
    assert.equal((await post({ query: "x" })).status, 400);
    assert.equal((await post({ queries: ["x"], topk: 0 })).status, 400);
    assert.equal((await handler(new Request("http://127.0.0.1/retrieve"))).status, 405);
    assert.equal((await handler(new Request("http://127.0.0.1/other"))).status, 404);
  });
});
