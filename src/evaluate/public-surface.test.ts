import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import * as files from "../base/files/index.ts";
import * as graders from "../graders/index.ts";
import type { ChatModel } from "../index.ts";
import * as root from "../index.ts";
import * as models from "../models/index.ts";
import * as tasks from "../tasks/index.ts";
import * as tools from "../tools/index.ts";
import { bareSystem } from "./bare-system.ts";
import * as evaluate from "./index.ts";

const coa = { ...root, ...files, ...graders, ...models, ...tasks, ...tools, ...evaluate };

describe("evaluation from outside", () => {
  it("runs, reads, compares and reports with the public names alone", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-surface-"));
    try {
      const tasks = [coa.defineTask({ id: "a", question: "1+1?", kind: "math", answers: ["2"] })];
      const model: ChatModel = {
        name: "m",
        chat: async () => ({
          text: "<answer>2.0</answer>",
          toolCalls: [],
          finish: "stop",
          usage: { promptTokens: 5, completionTokens: 2 },
        }),
      };
      const system = bareSystem({ model, price: { input: 1, output: 2 }, now: () => 0 });
      const { summary } = await coa.runEvaluation(tasks, system, { folder, grader: coa.taskGrader(), samples: 2 });
      assert.equal(summary.success.value, 1);
      assert.equal(summary.perTask.billedTokens, 7);
      assert.ok(Math.abs(summary.perTask.costUsd - 9e-6) < 1e-15);
      const stored = await coa.readEvaluation(folder);
      const comparison = coa.compareEvaluations([stored]);
      assert.match(coa.comparisonTable(comparison), /100\.0 %/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("offers every grader", async () => {
    assert.equal((await coa.gradeMath(["1/2"], "0.5")).correct, true);
    assert.equal(
      (await coa.taskGrader()(coa.defineTask({ id: "t", question: "q", answers: ["x"] }), "X")).correct,
      true,
    );
    assert.equal(typeof coa.judgeGrader, "function");
    assert.equal(coa.passAtK(2, 1, 1), 0.5);
    assert.equal(coa.comparePaired([0], [0]).pValue, 1);
  });
});
