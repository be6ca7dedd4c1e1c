import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { planUp, type Student, typed, type UpChoices } from "./up-plan.ts";

const choices: UpChoices = {
  folder: "up-docs",
  others: [],
  student: { kind: "folder", name: "qwen", folder: "qwen", rank: 8 },
  questions: 10,
  heldOut: 0.2,
  players: ["--base-url", "http://localhost/v1"],
  spending: [],
  tools: [],
  judge: [],
  assumeRight: false,
  rlSteps: 30,
};
const documents = {
  kind: "documents" as const,
  path: "my docs",
  name: "docs",
  files: 3,
  pieces: 3,
  sample: { passageTokens: 75, pageTokens: 75, named: 0 },
  problems: [],
};
const traces = { kind: "traces" as const, path: "t.jsonl", name: "t", runs: [], scored: 0, problems: [] };
const lines = (...args: Parameters<typeof planUp>) => planUp(...args).map((step) => typed(step.args));

describe("planUp", () => {
  it("trains a real base model as an adapter, with its own tokenizer and prompt", () => {
    const plan = lines(documents, choices).join("\n");
    assert.match(plan, /dataset build .* --tokenizer qwen /);
    assert.match(plan, /train sft up-docs\/qwen\/dataset --model qwen --lora 8 --epochs 3/);
    assert.doesNotMatch(plan, /--bare|model new/);
    assert.match(plan, /--docs 'my docs' --tools web_search,crawl_page/);
  });

  it("passes an engine's flags on, and measures no model whose weights are elsewhere", () => {
    const student: Extract<Student, { kind: "server" }> = {
      kind: "server",
      name: "q",
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
    assert.match(lines(traces, choices).join("\n"), /--recorded up-docs\/runs\.jsonl/);
    const given = lines(documents, { ...choices, tasks: "q/golds.jsonl", tools: own }).join("\n");
    assert.doesNotMatch(given, /tasks generate/);
    assert.match(given, /team run q\/golds\.jsonl --docs 'my docs' --tool \.\/mine\.ts/);
    assert.match(given, /eval run up-docs\/golds\.test\.jsonl/);
  });

  it("practises where answers are given and tools are live, and compares every stage with the team and its model", () => {
    const given = { ...choices, tasks: "golds.jsonl" };
    const plan = lines(documents, given);
    const at = (pattern: RegExp) => plan.findIndex((line) => pattern.test(line));
    assert.ok(
      at(
        /train rl up-docs\/golds\.train\.jsonl --model up-docs\/qwen\/sft\/model --docs .* --preset verifiable --steps 30 --lora 8 --out up-docs\/qwen\/rl/,
      ) > at(/train sft/),
    );
    assert.match(plan.at(-1)!, /eval compare docs-team docs-model-alone docs-qwen-base docs-qwen docs-qwen-practised /);
    assert.ok(at(/--system model --base-url http:\/\/localhost\/v1 .*--name docs-model-alone/) > 0);
    assert.ok(
      at(
        /--model qwen .*--profile up-docs\/qwen\/distilled\/profile\.json --set chain\.example=true --name docs-qwen-base/,
      ) > 0,
    );
    const beside = lines(documents, { ...given, others: ["tiny", "tiny-practised"] }).at(-1)!;
    assert.match(beside, /docs-team docs-model-alone docs-tiny docs-tiny-practised docs-qwen-base docs-qwen /);
    for (const other of [lines(documents, choices), lines(documents, { ...given, rlSteps: 0 }), lines(traces, given)])
      assert.doesNotMatch(other.join("\n"), /train rl|practised/);
    const scratch: Student = {
      kind: "scratch",
      name: "tiny",
      hidden: 8,
      layers: 1,
      heads: 1,
      vocabulary: 300,
      context: 512,
    };
    const small = lines(traces, { ...given, student: scratch, tools: ["--tool", "./mine.ts"], players: [] });
    assert.match(small.at(-1)!, /eval compare docs-team docs-tiny docs-tiny-practised /);
    assert.ok(
      small.some((line) =>
        /train rl .* --set limits\.maxSteps=16 --max-tokens 512 .*--out up-docs\/tiny\/rl/.test(line),
      ),
    );
  });
});
