import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { deflateRawSync } from "node:zlib";
import { readCallBody } from "../../language/call-body.ts";
import { tagSpec } from "../../language/profile.ts";
import { multiProfile } from "../../language/profiles.ts";
import { crawlPage } from "../crawl/crawl-page.ts";
import { indexProvider } from "../search/index-provider.ts";
import { webSearch } from "../search/web-search.ts";
import { buildIndex } from "./build-index.ts";
import { indexCorpus, isIndexOf } from "./index-corpus.ts";
import { documentFetch, openIndex } from "./open-index.ts";
import { readCorpus, splitPassages } from "./read-corpus.ts";

let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-corpus-"));
});
after(() => rm(folder, { recursive: true, force: true }));

describe("readCorpus", () => {
  it("names a line that is no object, and reads past a byte order mark", async () => {
    const path = join(folder, "odd.jsonl");
    await writeFile(path, '\ufeff{"text":"marked"}\nnull\n5\n"words"\n');
    const problems: string[] = [];
    const read = await Array.fromAsync(readCorpus(path, { onProblem: (problem) => problems.push(problem) }));
    assert.deepEqual(
      read.map(({ text }) => text),
      ["marked"],
    );
    assert.equal(problems.filter((problem) => problem.includes("not a JSON object")).length, 3);
  });

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
      { id: "3", title: "Quoted", text: "line one", url: "coa://docs/corpus/3" },
    ]);
  });

  it("stops at a bad line, or continues where the caller wants to be told", async () => {
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
    await assert.rejects(
      Array.fromAsync(readCorpus(join(folder, "absent"))),
      /does not exist: give a folder or a file/,
    );
  });

  it("leaves out hidden files and installed packages, and names the kinds that it does not read", async () => {
    const project = join(folder, "project");
    for (const part of [".git", "node_modules/x", "pages"]) await mkdir(join(project, part), { recursive: true });
    for (const file of [".git/a.md", "node_modules/x/README.md", "pages/b.md", "pages/c.csv", "d.csv", ".env.txt"])
      await writeFile(join(project, file), "Some text.\n");
    const problems: string[] = [];
    const read = await Array.fromAsync(readCorpus(project, { onProblem: (problem) => problems.push(problem) }));
    assert.deepEqual(
      read.map(({ url }) => url),
      ["coa://docs/project/pages/b.md"],
    );
    assert.deepEqual(problems, [`2 .csv in ${project}: this kind is not read`]);
  });

  it("reads a folder of HTML and Markdown, with titles and addresses", async () => {
    const site = join(folder, "site");
    await mkdir(join(site, "sub dir"), { recursive: true });
    await writeFile(join(site, "a.html"), "<title>Page A</title><nav>menu</nav><p>Hello there</p>");
    await writeFile(join(site, "sub dir", "b.md"), "# Head B\n\nSome text.\n");
    await writeFile(join(site, "ignored.bin"), "x");
    assert.deepEqual(await Array.fromAsync(readCorpus(site, { baseURL: "https://docs.example/base" })), [
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

describe("own documents", () => {
  it("are read from every kind of file, and those that can't be read are named and not fatal", async () => {
    const docs = join(folder, "My Docs");
    await mkdir(join(docs, "deep"), { recursive: true });
    await writeFile(join(docs, "a.md"), "# Kites\n\nThe red kite flies over Wales.");
    await writeFile(join(docs, "deep", "b.html"), "<title>Moths</title><p>The hawk moth feeds at dusk.</p>");
    await writeFile(join(docs, "c.txt"), "\ufeffPlain words about badgers.");
    await writeFile(join(docs, "d.docx"), docx("Otters", "Otters hold hands while they sleep."));
    await writeFile(join(docs, "e.jsonl"), '{"id":"e1","text":"A line about foxes."}\nbroken\n');
    await writeFile(join(docs, "broken.pdf"), "%PDF-1.4 not really");
    await writeFile(join(docs, "bomb.docx"), docx("Zeros", "0".repeat(70_000_000)));
    await writeFile(join(docs, "empty.md"), "");
    const index = join(folder, "index");
    const report = await indexCorpus(docs, index);
    assert.equal(report.documentCount, 5);
    const skipped = report.skipped.join("\n");
    for (const name of ["broken.pdf", "bomb.docx", "e.jsonl line 2", "empty.md"])
      assert.ok(skipped.includes(name), name);
    assert.ok(await isIndexOf(index, docs));
    await writeFile(join(docs, "a.md"), "# Kites\n\nThe red kite flies over Wales and England.");
    assert.ok(!(await isIndexOf(index, docs)));
    await assert.rejects(
      indexCorpus(join(docs, "broken.pdf"), join(folder, "none")),
      /holds no documents.*broken\.pdf/,
    );
  });

  it("are found and read by addresses that say nothing of the machine", async () => {
    const local = await openIndex(join(folder, "index"));
    const search = webSearch({ provider: indexProvider(local) });
    const context = { signal: new AbortController().signal };
    const found = String(await search.execute({ query: "hawk moth" }, context));
    assert.match(found, /coa:\/\/docs\/my-docs\/deep\/b\.html/);
    assert.ok(!found.includes(folder) && !found.includes("file:"));
    const crawl = crawlPage({ fetchPage: documentFetch(local) });
    const body = await readCallBody(tagSpec(multiProfile, "crawl_page")!, crawl, "coa://docs/my-docs/deep/b.html");
    assert.deepEqual(body, { ok: true, inputs: [{ urls: ["coa://docs/my-docs/deep/b.html"] }] });
    assert.match(
      String(await crawl.execute({ urls: ["coa://docs/my-docs/d.docx"] }, context)),
      /# Otters[\s\S]*hold hands/,
    );
    await assert.rejects(async () => crawl.execute({ urls: ["coa://docs/my-docs/none"] }, context), /no document at/);
    await assert.rejects(async () => crawl.execute({ urls: ["file:///etc/passwd"] }, context), /no document at/);
    const memory = buildIndex([{ id: "1", text: "one", url: "coa://docs/m/1" }]);
    assert.deepEqual(memory.read("coa://docs/m/1").length, 1);
    await local.close();
  });
});

/** The smallest Word file: one entry, stored by its central directory. */
function docx(heading: string, text: string): Buffer {
  const paragraph = (style: string, words: string) => `<w:p>${style}<w:r><w:t>${words}</w:t></w:r></w:p>`;
  const xml = `<w:document><w:body>${paragraph('<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>', heading)}${paragraph("", text)}</w:body></w:document>`;
  const data = deflateRawSync(xml);
  const name = Buffer.from("word/document.xml");
  const local = Buffer.alloc(30);
  local.write("PK\x03\x04", "latin1");
  local.writeUInt16LE(8, 8);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.write("PK\x01\x02", "latin1");
  central.writeUInt16LE(8, 10);
  central.writeUInt32LE(data.length, 20);
  central.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(local.length + name.length + data.length, 16);
  return Buffer.concat([local, name, data, central, name, end]);
}

describe("splitPassages", () => {
  it("keeps every word once, in order, and no passage much longer than asked for", () => {
    const words = Array.from({ length: 500 }, (_, i) => `w${i}`);
    const text = words.map((word, i) => (i % 37 === 0 ? `\n\n${word}` : i > 300 ? `${word}\n` : word)).join(" ");
    const passages = splitPassages(text, 60);
    assert.deepEqual(passages.join(" ").split(/\s+/), words);
    for (const passage of passages) assert.ok(passage.split(/\s+/).length <= 60);
  });
});
