import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { planUp, type Student, typed, type UpChoices } from "./up-plan.ts";

const choices: UpChoices = {
  folder: "w",
  student: { kind: "folder", folder: "qwen", rank: 8 },
  questions: 10,
  heldOut: 0.2,
  players: ["--base-url", "http://localhost/v1"],
  spending: [],
  tools: [],
  judge: [],
  assumeRight: false,
};
const documents = {
  kind: "documents" as const,
  path: "my docs",
  name: "docs",
  pieces: 3,
  characters: 900,
  problems: [],
};
const traces = { kind: "traces" as const, path: "t.jsonl", name: "t", runs: [], scored: 0, problems: [] };
const lines = (...args: Parameters<typeof planUp>) => planUp(...args).map((step) => typed(step.args));

describe("planUp", () => {
  it("trains a real base model as an adapter, with its own tokenizer and prompt", () => {
    const plan = lines(documents, choices).join("\n");
    assert.match(plan, /dataset build .* --tokenizer qwen /);
    assert.match(plan, /train sft w\/dataset --model qwen --lora 8 --epochs 3/);
    assert.doesNotMatch(plan, /--bare|model new/);
    assert.match(plan, /--docs 'my docs' --tools web_search,crawl_page/);
  });

  it("passes an engine's flags on, and measures no model whose weights are elsewhere", () => {
    const student: Student = {
      kind: "server",
      folder: "tok",
      rank: 32,
      flags: ["--engine", "tinker", "--base-model", "Q"],
      weightsHere: false,
    };
    const plan = lines(traces, { ...choices, student });
    assert.ok(plan.some((line) => /train sft .* --lora 32 --engine tinker --base-model Q/.test(line)));
    assert.ok(!plan.some((line) => /eval compare|sft\/model/.test(line)));
    assert.ok(
      lines(traces, { ...choices, student: { ...student, weightsHere: true } }).some((line) =>
        /eval compare/.test(line),
      ),
    );
  });

  it("takes tools of the user's own before replayed ones, and a file of tasks before written questions", () => {
    const own = ["--tool", "./mine.ts"];
    assert.match(lines(traces, { ...choices, tools: own }).join("\n"), /eval run .*sft\/model --tool \.\/mine\.ts/);
    assert.match(lines(traces, choices).join("\n"), /--recorded w\/runs\.jsonl/);
    const given = lines(documents, { ...choices, tasks: "q/golds.jsonl", tools: own }).join("\n");
    assert.doesNotMatch(given, /tasks generate/);
    assert.match(given, /team run q\/golds\.jsonl --docs 'my docs' --tool \.\/mine\.ts/);
    assert.match(given, /eval run w\/golds\.test\.jsonl/);
  });
});
