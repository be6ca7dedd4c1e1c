import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readCorpus, splitPassages } from "./read-corpus.ts";

let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-corpus-"));
});
after(() => rm(folder, { recursive: true, force: true }));

describe("readCorpus", () => {
  it("reads JSONL with title, text and url, or with contents", async () => {
    const path = join(folder, "corpus.jsonl");
    const lines = [
      '{"id":7,"title":"T","text":"body","url":"https://a.org"}',
      "",
      '{"contents":"\\"Quoted\\"\\nline one"}',
    ];
    await writeFile(path, lines.join("\r\n"));
    assert.deepEqual(await Array.fromAsync(readCorpus(path)), [
      { id: "7", title: "T", text: "body", url: "https://a.org" },
      { id: "3", title: "Quoted", text: "line one", url: undefined },
    ]);
  });

  it("stops at a bad line, or goes on where the caller wants to be told", async () => {
    const path = join(folder, "bad.jsonl");
    await writeFile(path, '{"text":"ok"}\nnot json\n{"title":"no text"}\n{"text":"ok too"}\n');
    await assert.rejects(Array.fromAsync(readCorpus(path)), /line 2: not JSON/);
    const problems: string[] = [];
    const read = await Array.fromAsync(readCorpus(path, { onProblem: (problem) => problems.push(problem) }));
    assert.deepEqual(
      read.map((document) => document.text),
      ["ok", "ok too"],
    );
    assert.equal(problems.length, 2);
    await assert.rejects(Array.fromAsync(readCorpus(join(folder, "absent"))), /no corpus at/);
  });

  it("reads a folder of HTML and Markdown, with titles and addresses", async () => {
    const site = join(folder, "site");
    await mkdir(join(site, "sub dir"), { recursive: true });
    await writeFile(join(site, "a.html"), "<title>Page A</title><nav>menu</nav><p>Hello there</p>");
    await writeFile(join(site, "sub dir", "b.md"), "# Head B\n\nSome text.\n");
    await writeFile(join(site, "ignored.bin"), "x");
    assert.deepEqual(await Array.fromAsync(readCorpus(site, { baseUrl: "https://docs.example/base" })), [
      { id: "a.html#0", title: "Page A", text: "Hello there", url: "https://docs.example/base/a.html" },
      {
        id: "sub dir/b.md#0",
        title: "Head B",
        text: "# Head B\n\nSome text.",
        url: "https://docs.example/base/sub%20dir/b.md",
      },
    ]);
  });
});

describe("splitPassages", () => {
  it("keeps every word once, in order, and no passage much longer than asked for", () => {
    const words = Array.from({ length: 500 }, (_, i) => `w${i}`);
    const text = words.map((word, i) => (i % 37 === 0 ? `\n\n${word}` : i > 300 ? `${word}\n` : word)).join(" ");
    const passages = splitPassages(text, 60);
    assert.deepEqual(passages.join(" ").split(/\s+/), words);
    for (const passage of passages) assert.ok(passage.split(/\s+/).length <= 60);
  });
});
