import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { SystemResult } from "../core/system.ts";
import { defineTask, type Task } from "../core/task.ts";
import { emptyUsage } from "../core/usage.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { defineSystem } from "./define-system.ts";
import { readEvaluation } from "./read-evaluation.ts";
import { runEvaluation } from "./run-evaluation.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-evaluate-"));
after(() => rm(folder, { recursive: true, force: true }));

function tasksOf(count: number): Task[] {
  return Array.from({ length: count }, (_, i) =>
    defineTask({
      id: `t${i}`,
      question: `What is ${i} + ${i}?`,
      answers: [String(2 * i)],
      family: i % 2 ? "odd" : "even",
      level: (i % 3) + 1,
    }),
  );
}

function result(answer: string | null, extra: Partial<SystemResult> = {}): SystemResult {
  const usage = {
    ...emptyUsage(),
    modelCalls: 1,
    billedTokens: 100,
    computedTokens: 60,
    toolCalls: 2,
    wallMs: 5,
    costUsd: 0.01,
  };
  return {
    answer,
    ending: { reason: answer === null ? "no-answer" : "answered" },
    usage,
    toolCalls: {},
    tokensByRole: {},
    ...extra,
  };
}

/** A process that evaluates a chain on a scripted model; wrong on every seventh task, so that there is something to grade. */
const script = `
import { defineTask } from ${JSON.stringify(import.meta.resolve("../core/task.ts"))};
import { codeProfile } from ${JSON.stringify(import.meta.resolve("../language/profiles.ts"))};
import { scriptedModel, tableTool } from ${JSON.stringify(import.meta.resolve("../testing/index.ts"))};
import { chainSystem } from ${JSON.stringify(import.meta.resolve("./chain-system.ts"))};
import { taskGrader } from ${JSON.stringify(import.meta.resolve("../graders/grade-task.ts"))};
import { runEvaluation } from ${JSON.stringify(import.meta.resolve("./run-evaluation.ts"))};
const [folder] = process.argv.slice(2);
const tasks = Array.from({ length: 500 }, (_, i) => defineTask({ id: "t" + i, question: "What is " + i + " + " + i + "?", answers: [String(2 * i)], family: i % 2 ? "odd" : "even" }));
const model = scriptedModel((request) => {
  const question = request.prompt.map((message) => message.content).join(" ");
  const i = Number(/What is (\\d+) \\+/.exec(question)[1]);
  return "<plan>add</plan><think>sum</think><answer>" + (i % 7 === 0 ? i : 2 * i) + "</answer>";
}, { chunkSize: 0 });
const system = chainSystem({ name: "scripted", model, tools: [tableTool({}, "code")], profile: codeProfile, now: () => 0 });
await runEvaluation(tasks, system, { folder, grader: taskGrader(), concurrency: 8, seed: 3, onProgress: ({ done }) => process.stdout.write(done + "\\n") });
`;

/** Runs the script and kills it without warning once so many tasks are done; resolves with whether it was killed. */
function run(file: string, into: string, killAt = Number.POSITIVE_INFINITY): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, into], { stdio: ["ignore", "pipe", "pipe"] });
    let killed = false;
    let problems = "";
    child.stderr.on("data", (chunk) => (problems += chunk));
    child.stdout.on("data", (chunk) => {
      const done = Number(String(chunk).trim().split("\n").at(-1));
      if (done >= killAt && !killed) {
        killed = true;
        child.kill("SIGKILL");
      }
    });
    child.on("exit", (code) => (killed || code === 0 ? resolve(killed) : reject(new Error(problems))));
  });
}

describe("runEvaluation", () => {
  it("gives the same bytes when 500 tasks are killed three times as when they are left alone", async () => {
    const file = join(folder, "evaluate.ts");
    await writeFile(file, script);
    const [whole, torn] = [join(folder, "whole"), join(folder, "torn")];
    assert.equal(await run(file, whole), false);
    for (const killAt of [60, 210, 390])
      assert.equal(await run(file, torn, killAt), true, `should be killed at ${killAt}`);
    assert.equal(await run(file, torn), false);
    for (const name of ["results.jsonl", "summary.json", "tasks.jsonl"]) {
      assert.ok((await readFile(join(whole, name))).equals(await readFile(join(torn, name))), name);
    }
    const { summary } = await readEvaluation(torn);
    assert.equal(summary.runs, 500);
    assert.equal(summary.successes, 500 - Math.ceil(500 / 7) + 1); // 0 + 0 is 0, the wrong answer is right by luck
  });

  it("counts crashed, unanswered and undecided runs in every denominator", async () => {
    const system = defineSystem({
      name: "shaky",
      async run(task) {
        const i = Number(task.id.slice(1));
        if (i % 4 === 0) throw new Error("server down");
        return result(i % 4 === 1 ? null : i % 4 === 2 ? String(2 * i) : "seven");
      },
    });
    const grader = taskGrader();
    const { summary } = await runEvaluation(tasksOf(40), system, {
      folder: join(folder, "shaky"),
      grader: async (task, answer) =>
        task.id === "t3" ? { correct: null, score: 0, reason: "judge down" } : grader(task, answer),
    });
    assert.equal(summary.success.value, 10 / 40);
    assert.deepEqual(
      [summary.successes, summary.crashed, summary.unanswered, summary.undecided, summary.wrong],
      [10, 10, 10, 1, 9],
    );
    assert.equal(summary.perSuccess?.billedTokens, (30 * 100) / 10);
    assert.equal(summary.whenRight?.billedTokens, 100);
    assert.equal(summary.byFamily["even"]?.success.value, 10 / 20);
    assert.equal(summary.byFamily["odd"]?.perSuccess, null);
  });

  it("tries crashed runs again when asked to", async () => {
    let broken = true;
    const system = defineSystem({
      name: "repaired",
      async run(task) {
        if (broken && task.id === "t1") throw new Error("server down");
        return result(String(2 * Number(task.id.slice(1))));
      },
    });
    const options = { folder: join(folder, "repaired"), grader: taskGrader() };
    assert.equal((await runEvaluation(tasksOf(4), system, options)).summary.successes, 3);
    broken = false;
    assert.equal((await runEvaluation(tasksOf(4), system, options)).summary.successes, 3);
    assert.equal((await runEvaluation(tasksOf(4), system, { ...options, retryErrors: true })).summary.successes, 4);
  });

  it("gives each sample its own seed, the same in every evaluation, and computes pass@k and majority from them", async () => {
    const seeds: number[] = [];
    const system = defineSystem({
      name: "samples",
      async run(task, { sample, seed }) {
        seeds.push(seed);
        const right = String(2 * Number(task.id.slice(1)));
        return result(task.id === "t1" ? (sample === 0 ? right : "9999") : sample < 3 ? right : "8");
      },
    });
    const { summary } = await runEvaluation(tasksOf(2), system, {
      folder: join(folder, "samples"),
      grader: taskGrader(),
      samples: 4,
      concurrency: 1,
    });
    assert.equal(new Set(seeds).size, 8);
    assert.equal(summary.success.value, (3 / 4 + 1 / 4) / 2);
    assert.equal(summary.passAtK["1"], summary.success.value);
    assert.ok(Math.abs(summary.passAtK["2"]! - (1 + (1 - 3 / 6)) / 2) < 1e-12);
    assert.equal(summary.passAtK["4"], 1);
    assert.equal(summary.majority, 1 / 2);
  });

  it("refuses to mix two evaluations in one folder and says what changed", async () => {
    const system = defineSystem({ name: "one", run: async () => result("0") });
    const options = { folder: join(folder, "mixed"), grader: taskGrader() };
    await runEvaluation(tasksOf(2), system, options);
    await assert.rejects(runEvaluation(tasksOf(2), system, { ...options, seed: 9 }), /seed was 0, is 9/);
    await assert.rejects(runEvaluation(tasksOf(3), system, options), /its tasks differ \(2 tasks, now 3 tasks\)/);
  });

  it("stops on abort, keeps what was finished and continues from there", async () => {
    const controller = new AbortController();
    let runs = 0;
    const system = defineSystem({
      name: "stopped",
      async run() {
        if (++runs === 5) controller.abort();
        return result("0");
      },
    });
    const options = { folder: join(folder, "stopped"), grader: taskGrader(), concurrency: 1 };
    await assert.rejects(runEvaluation(tasksOf(20), system, { ...options, signal: controller.signal }), {
      name: "AbortError",
    });
    const partial = await readEvaluation(options.folder);
    assert.ok(partial.records.length >= 4 && partial.summary.missing >= 15);
    await runEvaluation(tasksOf(20), system, options);
    assert.ok(runs <= 21);
  });
});
