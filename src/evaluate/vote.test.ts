import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatModel } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import { emptyUsage } from "../core/usage.ts";
import { taskGrader } from "../graders/grade-task.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";
import { chosenSuccess, majorityRecord, majoritySuccess, modelChooser, sameAnswer } from "./vote.ts";

const grader = taskGrader();
const math = defineTask({ id: "m", question: "q", kind: "math", answers: ["1/2"] });

function records(
  taskId: string,
  answers: (string | null)[],
  right: (answer: string | null) => boolean,
): EvaluationRecord[] {
  return answers.map((answer, sample) => ({
    version: 1,
    system: "s",
    taskId,
    sample,
    seed: sample,
    answer,
    grade: { correct: right(answer), score: 0, reason: "" },
    ending: { reason: "answered" },
    usage: emptyUsage(),
    toolCalls: {},
    tokensByRole: {},
  }));
}

describe("majority", () => {
  it("counts answers that mean the same as one, by the task's own rules", async () => {
    assert.equal(await sameAnswer(grader, math, "0.5", "\\frac{1}{2}"), true);
    assert.equal(await sameAnswer(grader, { ...math, kind: "qa" }, "0.5", "\\frac{1}{2}"), false);
    const chosen = await majorityRecord(
      grader,
      math,
      records("m", ["3", "0.5", "3", "1/2", "\\frac12"], () => false),
    );
    assert.equal(chosen?.answer, "0.5");
  });

  it("takes the first seen of equal groups, leaves out missing answers, and scores the choice", async () => {
    const right = (answer: string | null) => answer === "0.5";
    assert.equal((await majorityRecord(grader, math, records("m", [null, "7", "0.5"], right)))?.answer, "7");
    assert.equal(await majorityRecord(grader, math, records("m", [null, null], right)), undefined);
    assert.equal(
      await majoritySuccess([math, { ...math, id: "none" }], records("m", ["0.5", "1/2", "8"], right), grader),
      1 / 2,
    );
  });
});

describe("modelChooser", () => {
  const choosing = (text: string | Error): ChatModel => ({
    name: "chooser",
    async chat() {
      if (text instanceof Error) throw text;
      return { text, toolCalls: [], finish: "stop", usage: { promptTokens: 1, completionTokens: 1 } };
    },
  });
  const right = (answer: string | null) => answer === "b";

  it("gives best-of-N by what the model picks, and the first answer when it picks nothing", async () => {
    const all = records("m", ["a", null, "b"], right);
    assert.equal(await chosenSuccess([math], all, modelChooser(choosing('{"choice": 2}'))), 1);
    assert.equal(await chosenSuccess([math], all, modelChooser(choosing('{"choice": 1}'))), 0);
    assert.equal(await chosenSuccess([math], all, modelChooser(choosing("the second"))), 0);
    assert.equal(await chosenSuccess([math], all, modelChooser(choosing(new Error("down")))), 0);
    assert.equal(await chosenSuccess([math], [], modelChooser(choosing("x"))), 0);
  });
});
