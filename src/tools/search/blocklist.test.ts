import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Tool } from "../../core/tool.ts";
import { benchmarkBlocklist, blocklist, withoutUrls } from "./blocklist.ts";

const context = { signal: new AbortController().signal };

describe("blocklist", () => {
  it("blocks domains with their subdomains, path prefixes, words, and addresses carried inside others", () => {
    const list = blocklist([
      "# comment",
      "",
      "example.com",
      "github.com/owner/repo",
      "*gaia-benchmark*",
      "huggingface.co/datasets",
    ]);
    for (const url of [
      "https://example.com/", "http://www.example.com/x?y", "https://deep.example.com./", "https://EXAMPLE.com:8080/",
      "https://github.com/owner/repo", "https://github.com/Owner/Repo/blob/main/a.md", "https://github.com/owner/repo?tab=x",
      "https://x.org/GAIA-benchmark/y", "https://huggingface.co/datasets/a/b", "https://huggingface.co//datasets/a",
      "https://huggingface.co/%64atasets/a", "https://web.archive.org/web/2023/https://example.com/page",
      "https://r.jina.ai/https://huggingface.co/datasets/a", "https://translate.google.com/translate?u=https%3A%2F%2Fexample.com%2Fa",
      "https://r.jina.ai/example.com/a", "https://cache.org/?q=https%253A%252F%252Fexample.com",
    ]) // biome-ignore format: a list
      assert.match(list.refusal(url) ?? "", /blocked by the rule/, url);
    for (const url of [
      "https://example.org/",
      "https://notexample.com/",
      "https://github.com/owner/repository",
      "https://huggingface.co/docs",
      "https://github.com/owner",
      "not a url",
    ])
      assert.equal(list.refusal(url), undefined, url);
  });
});

describe("withoutUrls", () => {
  it("knows blocked pages in every spelling, and no others", () => {
    const list = blocklist(benchmarkBlocklist);
    const blocked = [
      "https://huggingface.co/datasets/x",
      "HTTPS://WWW.HUGGINGFACE.CO",
      "http://huggingface.co:443/a",
      "https://r.jina.ai/https://huggingface.co/datasets",
      "https://proxy.example/?u=https%3A%2F%2Fhuggingface.co%2Fd",
      "https://proxy.example/?u=https%253A%252F%252Fhuggingface.co",
      "https://datasets-server.huggingface.co./rows",
      "github.com/openai/simple-evals/blob/main/x.csv",
    ];
    for (const url of blocked) assert.ok(list.refusal(url), url);
    const allowed = [
      "https://myhf.co/x",
      "https://hf.community",
      "https://github.com/openai/openai-node",
      "https://nothuggingface.co",
      "https://en.wikipedia.org/wiki/Kaggle",
    ];
    for (const url of allowed) assert.equal(list.refusal(url), undefined, url);
  });

  it("refuses calls and takes mentions out of results", async () => {
    const results: Tool = {
      name: "web_search",
      description: "",
      inputSchema: { type: "object" },
      execute: () =>
        "1. Paris\nhttps://en.wikipedia.org/wiki/Paris\nThe capital.\n\n2. GAIA answers\nhttps://huggingface.co/datasets/gaia\nAnswer: 17\n\n3. Lyon\nhttps://lyon.fr",
    };
    const listed: Tool = {
      ...results,
      name: "list",
      execute: () => ({
        results: [
          { url: "https://hf.co/x", text: "17" },
          { url: "https://a.org", text: "ok" },
        ],
      }),
    };
    const [search, list] = withoutUrls([results, listed]);
    const text = String(await search!.execute({ query: "capital" }, context));
    assert.ok(!/17|huggingface/.test(text));
    assert.match(text, /Paris[\s\S]*Lyon[\s\S]*withheld/);
    assert.deepEqual(await list!.execute({}, context), { results: [{ url: "https://a.org", text: "ok" }] });
    await assert.rejects(
      async () => search!.execute({ url: "https://hf.co/datasets" }, context),
      /may not be read during an evaluation/,
    );
  });
});
