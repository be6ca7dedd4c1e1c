import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../base/work/random.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { readCallBody, writeCallBody } from "./call-body.ts";
import { type TagSpec, tagSpec } from "./profile.ts";
import { codeProfile, mhqaProfile, multiProfile } from "./profiles.ts";
import { tagOfTool } from "./tool-tags.ts";
import { bodyProblem } from "./validate.ts";

const tag = (name: string): TagSpec => tagSpec(multiProfile, name)!;
const schema = (properties: Record<string, JsonSchema>): Tool => ({
  name: "t",
  description: "",
  inputSchema: { type: "object", properties },
  execute: () => "",
});
const text = { type: "string" };

describe("writeCallBody and readCallBody", () => {
  it("writes bodies that the runtime reads back as the recorded input", async () => {
    const search = schema({ query: text });
    const both = schema({ query: text, site: text });
    const crawl = schema({ urls: { type: "array", items: text } as JsonSchema });
    const code = schema({ code: text, stdin: text });
    const image = schema({ file_path: text, question: text });
    const cases: [TagSpec, Tool, unknown][] = [
      [tag("web_search"), search, { query: "Ada Lovelace" }],
      [tag("web_search"), search, { query: '"exact words" AND more' }],
      [tag("web_search"), search, { query: "{braces} and `ticks`" }],
      [tag("web_search"), search, { query: "1815" }],
      [tag("web_search"), both, { query: "notes", site: "example.org" }],
      [tag("crawl_page"), crawl, { urls: ["http://lab/483"] }],
      [tag("crawl_page"), crawl, { urls: ["http://lab/1", "https://a.example/b?c=d"] }],
      [tag("code"), code, { code: "print(1)" }],
      [tag("code"), code, { code: "for i in range(3):\n    print(i)" }],
      [tagSpec(codeProfile, "code")!, code, { code: "print(input())", stdin: "3 4" }],
      [tag("visual_inspector"), image, { file_path: "a.png", question: "What is it?" }],
    ];
    for (const [spec, tool, input] of cases) {
      const body = writeCallBody(spec, JSON.stringify(input));
      assert.equal(bodyProblem(spec.body, body), null, body);
      const read = await readCallBody(spec, tool, ` ${body}`);
      assert.deepEqual(read, { ok: true, inputs: [input] }, body);
    }
  });

  it("are inverses on any text: what is written reads back as the same input", async () => {
    const next = seededRandom(5).next;
    const alphabet = [
      ..."ab 1.,:;|'\"`{}[]()<>/\\\n\t#=-_é中😀",
      "https://a.example/x?y=1",
      "```",
      '{"query":',
      "null",
      " ",
    ];
    const anyText = () =>
      Array.from({ length: Math.floor(next() * 12) }, () => alphabet[Math.floor(next() * alphabet.length)]).join("");
    const tools: [TagSpec, JsonSchema, () => unknown][] = [
      [
        tag("web_search"),
        { type: "object", properties: { query: text }, required: ["query"] },
        () => ({ query: anyText() }),
      ],
      [
        tag("web_search"),
        { type: "object", properties: { query: text, site: text } },
        () => (next() < 0.5 ? { site: anyText() } : { query: anyText(), site: anyText() }),
      ],
      [tag("web_search"), { type: "object", properties: { url: text }, required: ["url"] }, () => ({ url: anyText() })],
      [
        tag("web_search"),
        { type: "object", properties: { n: { type: "number" }, list: { type: "array" } } },
        () => ({ n: next(), list: [anyText()] }),
      ],
      [
        tag("visual_inspector"),
        { type: "object", properties: { file_path: text, question: text } },
        () => ({ file_path: anyText(), question: anyText() }),
      ],
    ];
    for (let round = 0; round < 3000; round++) {
      const [spec, inputSchema, make] = tools[round % tools.length]!;
      const input = make();
      const body = writeCallBody(spec, JSON.stringify(input), inputSchema);
      const read = await readCallBody(spec, { ...schema({}), inputSchema }, body);
      assert.deepEqual(read, { ok: true, inputs: [input] }, JSON.stringify({ input, body }));
    }
  });

  it("takes the address alone where a foreign reader was told more", () => {
    assert.equal(writeCallBody(tag("crawl_page"), '{"url":"https://a.example/","query":"year"}'), "https://a.example/");
  });
});

describe("tagOfTool", () => {
  it("knows a tool by its name, by the names others give it, or as it is told", () => {
    assert.equal(tagOfTool(multiProfile, "crawl_page")?.name, "crawl_page");
    assert.equal(tagOfTool(multiProfile, "visitWebPage")?.name, "crawl_page");
    assert.equal(tagOfTool(multiProfile, "python_interpreter")?.name, "code");
    assert.equal(tagOfTool(mhqaProfile, "web_search")?.name, "wiki_search");
    assert.equal(tagOfTool(multiProfile, "ask_oracle", { ask_oracle: "web_search" })?.name, "web_search");
    assert.equal(tagOfTool(multiProfile, "ask_oracle"), undefined);
  });
});
