import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { plotMetrics, sparkline } from "../cli/output.ts";
import type { Example } from "../core/engine.ts";
import { defineTask } from "../core/task.ts";
import { copyTask, inSequence } from "../lab/copy-task.ts";
import { selectTasks } from "../tasks/select-tasks.ts";
import { scheduleFactor } from "./schedule.ts";

describe("copyTask", () => {
  const options = {
    tokens: Array.from({ length: 90 }, (_, at) => at + 10),
    digits: [1, 2, 3],
    tokensPerBatch: 1024,
    seed: 4,
  };

  it("weighs only tokens that stood earlier after the same two tokens' start, at offsets that vary", () => {
    const offsets = new Set<number>();
    for (const example of copyTask(options).batch(3) as Example[]) {
      const sequence = [example.input[0]!, ...example.targets];
      example.weights!.forEach((weight, at) => {
        if (weight === 0) return;
        const [previous, target] = [sequence[at], sequence[at + 1]];
        const earlier = sequence.findIndex((token, k) => k < at && token === previous && sequence[k + 1] === target);
        assert.ok(earlier >= 0, "a weighted token can't be copied from anywhere");
        offsets.add(at - earlier);
      });
    }
    assert.ok(offsets.size > 20, `only ${offsets.size} offsets`);
  });

  it("gives the same batch for the same step, and hands over to the next source", () => {
    const first = copyTask(options);
    const second = copyTask({ ...options, seed: 5 });
    assert.deepEqual(first.batch(2), copyTask(options).batch(2));
    const both = inSequence([
      { source: first, steps: 2 },
      { source: second, steps: 9 },
    ]);
    assert.deepEqual(both.batch(1), first.batch(1));
    assert.deepEqual(both.batch(2), second.batch(0));
    assert.deepEqual(both.batch(40), second.batch(38));
  });
});

describe("schedule", () => {
  it("rises, holds and falls", () => {
    const schedule = { warmupSteps: 4, decay: "linear" as const, decayShare: 0.5, floor: 0.1 };
    assert.equal(scheduleFactor(schedule, 0, 100), 0.25);
    assert.equal(scheduleFactor(schedule, 40, 100), 1);
    assert.ok(Math.abs(scheduleFactor(schedule, 75, 100) - 0.55) < 1e-9);
    assert.ok(Math.abs(scheduleFactor({ ...schedule, decay: "cosine" }, 100, 100) - 0.1) < 1e-9);
  });
});

describe("selectTasks", () => {
  it("keeps the informative band and says why the others went", async () => {
    const tasks = ["used", "known", "hard", "easy", "good"].map((id) =>
      defineTask({ id, question: id, answers: ["yes"] }),
    );
    const decisions = await selectTasks(tasks, {
      grade: (_task, answer) => ({ correct: answer === null ? null : answer === "yes", score: 0, reason: "" }),
      exclude: new Set(["used"]),
      withoutTools: { answer: async ({ id }) => (id === "known" ? "yes" : "no"), samples: 4, maxPassRate: 0.3 },
      withTools: {
        answer: async ({ id }, sample) => (id === "easy" || (id === "good" && sample % 2 === 0) ? "yes" : "no"),
        samples: 8,
        minPassRate: 0.1,
        maxPassRate: 0.9,
      },
    });
    assert.deepEqual(
      decisions.map(({ kept }) => kept),
      [false, false, false, false, true],
    );
    assert.match(decisions[0]!.reason, /used for SFT/);
    assert.match(decisions[1]!.reason, /without tools in 100 %/);
    assert.match(decisions[2]!.reason, /too hard/);
    assert.match(decisions[3]!.reason, /nothing left/);
    assert.equal(decisions[4]!.passRates.withTools, 0.5);
  });
});

describe("plotMetrics", () => {
  it("draws every figure from its first value to its last", () => {
    const metrics = Array.from({ length: 50 }, (_, at) => ({
      step: at + 1,
      loss: 5 - at / 10,
      ...(at > 8 && { success: 1 }),
    }));
    assert.deepEqual(plotMetrics(metrics, 10), [
      ["loss", "5.000", "█▇▆▆▅▄▃▃▂▁", "0.1000"],
      ["success", "1.000", "▁▁▁▁▁▁▁▁▁", "1.000"],
    ]);
  });

  it("draws the newest values as a line of bars", () => {
    assert.equal(sparkline([8, 7, 6, 5, 4, 3, 2, 1]), "█▇▆▅▄▃▂▁");
    assert.equal(sparkline([1, 1]), "▁▁");
    assert.equal(sparkline(Array.from({ length: 640 }, (_, at) => at)).length, 16);
  });
});
