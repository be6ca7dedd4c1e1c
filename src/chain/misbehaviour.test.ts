import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { defineTask } from "../core/task.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { multiProfile, webProfile } from "../language/profiles.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { runChain } from "./run-chain.ts";

const task = defineTask({ id: "t", question: "q" });
const python: Tool = defineTool({
  name: "code",
  description: "Run Python.",
  input: z.object({ code: z.string(), stdin: z.string().optional() }),
  run: ({ code, stdin }) => `ran ${code}${stdin ? ` with ${stdin}` : ""}`,
});
const look: Tool = defineTool({
  name: "visual_inspector",
  description: "Look at an image.",
  input: z.object({ file_path: z.string(), question: z.string().optional() }),
  run: ({ file_path }) => `saw ${file_path}`,
});
const crawl: Tool = defineTool({
  name: "crawl_page",
  description: "Read pages.",
  input: z.object({ urls: z.array(z.string()) }),
  run: ({ urls }) => `read ${urls.join(" and ")}`,
});
const tools = [tableTool({ x: "y" }), python, look, crawl];
const goodEnd =
  "<think>t</think><suggested_answer>y</suggested_answer><think>t</think><double_check>The score this time is:4</double_check><answer>y</answer>";

describe("a misbehaving model under repair", () => {
  const bodies: [name: string, call: string, expected: RegExp][] = [
    ["code without a fence", "<code>print(1)</code>", /^ran print\(1\)$/],
    ["code in another fence", "<code>\n```javascript\nprint(1)\n```\n</code>", /^ran print\(1\)$/],
    ["code with an unclosed fence", "<code>```py\nprint(1)</code>", /^ran print\(1\)$/],
    ["code with stdin", "<code>```py\nprint(1)\n```\n```sh\n4\n```</code>", /^ran print\(1\) with 4$/],
    ["JSON with single quotes", "<visual_inspector>{'file_path': 'a.png',}</visual_inspector>", /^saw a\.png$/],
    [
      "JSON with bare keys",
      '<visual_inspector>```\n{file_path: "a.png", question: None}\n```</visual_inspector>',
      /^saw a\.png$/,
    ],
    ["JSON inside prose", 'Please <visual_inspector>use {"file_path": "a.png"} now</visual_inspector>', /^saw a\.png$/],
    ["a bare path", "<visual_inspector>a.png</visual_inspector>", /^saw a\.png$/],
    [
      "URLs joined with |",
      "<crawl_page>https://a.b/c | http://d.e</crawl_page>",
      /^read https:\/\/a\.b\/c and http:\/\/d\.e$/,
    ],
    ["a markdown link", "<crawl_page>[page](https://a.b/c_(d))</crawl_page>", /^read https:\/\/a\.b\/c_\(d\)$/],
    ["a URL without scheme", "<crawl_page>a.b.org/c</crawl_page>", /^read https:\/\/a\.b\.org\/c$/],
    ["a search in JSON", '<web_search>{"query": "x"}</web_search>', /^y$/],
    ["a search in a fence", "<web_search>```\nx\n```</web_search>", /^y$/],
    [
      "nothing usable",
      "<crawl_page>   </crawl_page>",
      /^error: crawl_page could not read this call: the call is empty\. Body: URLs joined with \|\. Fields: urls \(array\)/,
    ],
    ["a missing closing tag", "<web_search>x", /^y$/],
    ["a forgotten think end", "<think>hm <web_search>x</web_search>", /^y$/],
  ];
  for (const [name, call, expected] of bodies) {
    it(`reads ${name}`, async () => {
      const model = scriptedModel([call.startsWith("<think>") ? call : `<think>t</think>${call}`, goodEnd]);
      const trajectory = await runChain(task, { model, tools, profile: multiProfile });
      const observation = trajectory.segments.find((segment) => segment.by === "tool");
      assert.match(observation?.text ?? "none", expected);
      assert.equal(trajectory.answer, "y");
    });
  }

  it("ends in spite of wrong order, loose talk, made-up observations and endless loops", async () => {
    const lines = [
      "Sure, I can help with that!",
      "<answer>42</answer>",
      "<observation>I know it</observation><answer>42</answer>",
      "<double_check>The score this time is:1</double_check><answer>42</answer>",
    ];
    const stubborn = await runChain(task, {
      model: scriptedModel((_, call) => lines[call % lines.length]!),
      tools,
      profile: webProfile,
    });
    assert.equal(stubborn.ending.reason, "answered", "after some refusals it has its way");
    assert.ok(stubborn.violations.length > 0);
    const loop = await runChain(task, {
      model: scriptedModel(() => "<think>t</think><web_search>x</web_search>"),
      tools,
      profile: webProfile,
      limits: { maxSteps: 9 },
    });
    assert.equal(loop.ending.reason, "limit");
    assert.equal(loop.usage.toolCalls, 1, "the repeated call is never made again");
    assert.equal(loop.usage.modelCalls, 9);
    const babble = await runChain(task, {
      model: scriptedModel(() => `<think>${"and on ".repeat(5000)}`),
      tools,
      profile: webProfile,
      limits: { maxCompletionTokens: 3000, maxTokensPerCall: 500, answerReserve: 100 },
    });
    assert.equal(babble.ending.reason, "limit");
    assert.ok(babble.usage.completionTokens <= 3000, `${babble.usage.completionTokens}`);
  });
});
