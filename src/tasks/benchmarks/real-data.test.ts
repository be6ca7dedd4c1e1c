import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { afmPrompt } from "../../afm/afm-preset.ts";
import type { Grade } from "../../core/grader.ts";
import type { Task } from "../../core/task.ts";
import { gradeTask } from "../../graders/grade-task.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "../../tools/sandbox/bubblewrap.ts";
import { loadTasks } from "./load-tasks.ts";
import { readRows } from "./read-rows.ts";

const folder = fileURLToPath(new URL("../../../../shared/fixtures/benchmarks/", import.meta.url));
const skip = existsSync(folder) ? false : "the benchmark files are not on this machine";

/** Grades many answers and prints the share that came out as wanted. */
async function rate(
  t: TestContext,
  what: string,
  cases: { task: Task; answer: string }[],
  wanted: boolean,
  options = {},
): Promise<number> {
  const off: string[] = [];
  for (const { task, answer } of cases) {
    const grade: Grade = await gradeTask(task, answer, options);
    if (grade.correct !== wanted)
      off.push(`${task.id}: ${answer.slice(0, 80)} (gold ${task.answers[0]?.slice(0, 80)})`);
  }
  const share = 1 - off.length / cases.length;
  t.diagnostic(`${what}: ${(share * 100).toFixed(2)} % of ${cases.length} graded ${wanted ? "right" : "wrong"}`);
  for (const line of off.slice(0, 8)) t.diagnostic(`  not so: ${line}`);
  return share;
}

/** The answer with its last number changed, or a word added. */
function perturbed(answer: string): string {
  if (!/\d/.test(answer))
    return /^[^a-z]*[a-z]\b/i.test(answer) && answer.length < 12 ? `${answer}+1` : `${answer} not quite`;
  return answer.replace(/\d+(?!.*\d)/s, (digits) => String(BigInt(digits) + 1n));
}

describe("graders on real benchmark files", { skip }, () => {
  it("finds the prompts of the reference's code agent in its rows, word for word", async () => {
    for (const [name, words] of [
      ["aime24.parquet", `${afmPrompt("math")}\n\nTask:\n`],
      ["livecodebench_v4.parquet", `${afmPrompt("program")}\n\nTask: `],
    ] as const) {
      for await (const row of readRows(`${folder}${name}`)) {
        const [message] = row["prompt"] as { content: string }[];
        assert.ok(message!.content.startsWith(words));
      }
    }
  });

  for (const name of ["math500.parquet", "aime24.parquet"]) {
    it(`grades every gold of ${name} right against itself and in worked forms, and perturbed ones wrong`, async (t) => {
      const tasks = await loadTasks(`${folder}${name}`);
      const answers = (write: (gold: string) => string) =>
        tasks.map((task) => ({ task, answer: write(task.answers[0]!) }));
      assert.equal(
        await rate(
          t,
          "itself",
          answers((gold) => gold),
          true,
        ),
        1,
      );
      assert.equal(
        await rate(
          t,
          "boxed",
          answers((gold) => `Adding up, we get\n\\[ x = 3 \\]\nso \\boxed{${gold}}.`),
          true,
        ),
        1,
      );
      assert.equal(
        await rate(
          t,
          "in dollars",
          answers((gold) => `The answer is $${gold}$.`),
          true,
        ),
        1,
      );
      assert.ok(
        (await rate(
          t,
          "perturbed",
          answers((gold) => `\\boxed{${perturbed(gold)}}`),
          false,
        )) >= 0.99,
      );
      const shifted = tasks
        .map((task, i) => ({ task, answer: tasks[(i + 1) % tasks.length]!.answers[0]! }))
        .filter(({ task, answer }) => task.answers[0] !== answer);
      assert.ok((await rate(t, "the next task's answer", shifted, false)) >= 0.99);
    });
  }

  it("grades every gold of NQ right, whatever its case and articles, and perturbed ones wrong", async (t) => {
    const tasks = await loadTasks(`${folder}nq_full.jsonl`);
    const golds = tasks.flatMap((task) => task.answers.map((gold) => ({ task, answer: gold })));
    assert.equal(await rate(t, "itself", golds, true), 1);
    const varied = golds
      .filter(({ answer }) => /[a-z]{4}/.test(answer))
      .map(({ task, answer }) => ({ task, answer: `The ${answer.toUpperCase()}.` }));
    assert.ok((await rate(t, "upper case with an article", varied, true)) >= 0.99);
    const wrong = golds.map(({ task, answer }) => ({ task, answer: `${answer} nonsense` }));
    assert.equal(await rate(t, "with a word added", wrong, false), 1);
  });

  it("needs no judge for WebWalker's own golds, and leaves the rest to it", async (t) => {
    const tasks = await loadTasks(`${folder}webwalker_main.json`);
    assert.equal(tasks.length, 680);
    assert.equal(
      await rate(
        t,
        "itself",
        tasks.map((task) => ({ task, answer: task.answers[0]! })),
        true,
      ),
      1,
    );
    const judge = () => ({ correct: false, score: 0, reason: "judged" });
    const wrong = tasks.map((task) => ({ task, answer: `${task.answers[0]} Or something else.` }));
    assert.equal(await rate(t, "changed, by a judge", wrong, false, { judge }), 1);
  });

  const noSandbox = bubblewrapProblem();
  it("passes programs that know LiveCodeBench's outputs and fails ones that don't", {
    skip: noSandbox ?? false,
  }, async (t) => {
    const tasks = await loadTasks(`${folder}livecodebench_v4.parquet`);
    assert.equal(tasks.length, 100);
    assert.ok(
      tasks.every(
        (task) => task.tests && task.tests.inputs.length === task.tests.outputs.length && task.tests.inputs.length > 0,
      ),
    );
    const sandbox = bubblewrapSandbox({ warm: 2, concurrency: 4 });
    try {
      const chosen = tasks.filter((_, i) => i % 10 === 0 || i % 10 === 7);
      const known = chosen.map((task) => ({ task, answer: program(task, (output) => output) }));
      assert.equal(await rate(t, "programs that know the outputs", known, true, { sandbox }), 1);
      const off = chosen.map((task) => ({
        task,
        answer: program(task, (output) => (task.tests!.functionName ? `[${output}]` : `${output}!`)),
      }));
      assert.equal(await rate(t, "programs with changed outputs", off, false, { sandbox }), 1);
    } finally {
      await sandbox.close();
    }
  });
});

/** A program that looks its output up by its input. */
function program({ tests }: Task, change: (output: string) => string): string {
  const { functionName, inputs, outputs } = tests!;
  const quote = (text: string) => JSON.stringify(text);
  if (functionName === undefined) {
    const table = inputs.map((input, i) => `${quote(input)}: ${quote(change(outputs[i]!))}`).join(", ");
    return `\`\`\`py\nimport sys\nprint({${table}}[sys.stdin.read()])\n\`\`\``;
  }
  const table = inputs
    .map((input, i) => `${quote(JSON.stringify(JSON.parse(input)))}: ${quote(change(outputs[i]!))}`)
    .join(", ");
  return `\`\`\`py\nimport json\nclass Solution:\n    def ${functionName}(self, *args):\n        return json.loads({${table}}[json.dumps(args, separators=(",", ":"))])\n\`\`\``;
}
