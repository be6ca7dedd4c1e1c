import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Sandbox } from "../../../src/core/sandbox.ts";
import { trajectoryText } from "../../../src/core/trajectory.ts";
import { distillRun } from "../../../src/distill/distill-run.ts";
import { taskGrader } from "../../../src/graders/grade-task.ts";
import { outcomeReward } from "../../../src/graders/reward.ts";
import { runTeam } from "../../../src/team/run-team.ts";
import { pyodideSandbox } from "../../../src/tools/sandbox/pyodide-launch.ts";
import { endlessMs } from "../../../test/fixtures/until.ts";
import { labCodeProfile } from "./code-profile.ts";
import { codeTasks, heldOutKinds } from "./code-tasks.ts";
import { codeLabTools } from "./code-tools.ts";
import { problems, programOf, type Value } from "./programs.ts";
import { scriptedCoders } from "./scripted-coders.ts";
import { understandTask } from "./understand-task.ts";

// One child for the whole file: a new one for each program would cost more than everything else here.
const warm = pyodideSandbox();
const sandbox: Sandbox = { ...warm, run: (request) => warm.run({ ...request, sessionKey: "code-lab" }) };
after(() => warm.close());

const samples: Record<string, readonly Value[]> = {
  numbers: [[12, 7, 3], [7, 7], [4, 15, 8, 21], [8], [10, 9]],
  word: ["tree", "atlas", "e"],
  number: [1, 5, 11],
};

/** Runs all programs on all inputs in one go: the outputs, or the name of the error. */
async function outputsOf(jobs: readonly { code: string; input: string; call: boolean }[]): Promise<string[]> {
  const driver = `
import builtins, contextlib, io, json
out = []
for job in json.loads(${JSON.stringify(JSON.stringify(jobs))}):
    text = io.StringIO()
    names = {"input": lambda: job["input"]}
    try:
        with contextlib.redirect_stdout(text):
            exec(job["code"], names)
            if job["call"]: print(names["f"](json.loads(job["input"])))
        out.append(text.getvalue().strip())
    except Exception as error:
        out.append("error: " + type(error).__name__)
print(json.dumps(out))
`;
  const limits = { cpuMs: 120_000, wallMs: endlessMs, outputCharacters: 1_000_000 };
  const { stdout, stderr, verdict } = await sandbox.run({ language: "python", code: driver, limits });
  assert.equal(verdict, "ok", stderr);
  return JSON.parse(stdout) as string[];
}

describe("the programming problems of the lab", () => {
  it("have programs that compute what they say in both forms, and first drafts that an example shows to be wrong", async () => {
    const jobs = problems(7, "e").flatMap((problem) =>
      samples[problem.takes]!.flatMap((value) =>
        (["stdin", "function"] as const).flatMap((form) =>
          [problem.body, ...problem.slips.map(({ body }) => body)].map((body, draft) => ({
            problem,
            draft,
            expected: String(problem.solve(value)),
            code: programOf(problem, body, form),
            input:
              form === "function" ? JSON.stringify(value) : typeof value === "object" ? value.join(" ") : String(value),
            call: form === "function",
          })),
        ),
      ),
    );
    const outputs = await outputsOf(jobs.map(({ code, input, call }) => ({ code, input, call })));
    const caught = new Set<string>();
    for (const [index, { problem, draft, expected, code }] of jobs.entries()) {
      if (draft === 0) assert.equal(outputs[index], expected, code);
      else if (outputs[index] !== expected) caught.add(`${problem.kind} ${draft}`);
    }
    const drafts = problems(7, "e").flatMap(({ kind, slips }) => slips.map((_, at) => `${kind} ${at + 1}`));
    assert.deepEqual(
      drafts.filter((draft) => !caught.has(draft)),
      [],
    );
    assert.equal(new Set(drafts.map((draft) => draft.split(" ")[0])).size, 31);
  });

  it("are understood from their words alone, share no question between splits, and hold some kinds out", () => {
    const train = codeTasks({ count: 400 });
    const test = codeTasks({ count: 150, split: "test" });
    const unknown = codeTasks({ count: 60, split: "test", kinds: "held-out" });
    for (const task of [...train, ...test, ...unknown])
      assert.equal(understandTask(task.question)?.problem.kind, task.family, task.question);
    const asked = new Set(train.map(({ question }) => question));
    assert.deepEqual(
      [...test, ...unknown].filter(({ question }) => asked.has(question)),
      [],
    );
    assert.ok(train.concat(test).every(({ family }) => !heldOutKinds.includes(family!)));
    assert.deepEqual(new Set(unknown.map(({ family }) => family!)), new Set(heldOutKinds));
    assert.deepEqual(codeTasks({ count: 400 }), train);
    assert.throws(() => codeTasks({ count: 1, kinds: "held-out" }), /for tests/);
    assert.equal(understandTask("Read a poem and print it."), null);
  });
});

describe("the scripted coders", () => {
  it("write, run, read the error and repair; the chain shows it, and a real sandbox finds the answer right", async () => {
    const task = codeTasks({ count: 40 }).find(({ id }) => id.endsWith("repeated-capitals-stdin"))!;
    const tools = codeLabTools(sandbox);
    const run = await runTeam(task, { roles: scriptedCoders({ hasty: 1 }), tools });
    const { trajectory } = distillRun(run, { profile: labCodeProfile, systemPrompt: false });
    const written = trajectoryText(trajectory!.segments);
    assert.match(
      written,
      /<code>[\s\S]+<observation>.+<\/observation><reflection> it (?:fails: \w+|gives something else)<\/reflection><think>/,
    );
    assert.deepEqual(
      trajectory!.segments.filter(({ tag }) => tag !== "think" && tag !== "observation").map(({ tag }) => tag),
      ["plan", "code", "reflection", "code", "reflection", "answer"],
    );
    assert.equal(trajectory!.distilled!.filledThoughts, 0);
    assert.equal(run.scores!.at(-1), 4);
    const reward = outcomeReward(taskGrader({ sandbox }), { format: { rule: "strict", profile: labCodeProfile } });
    assert.equal((await reward(trajectory!, task)).reward, 1);
    const outOfForm = { ...trajectory!, segments: trajectory!.segments.slice(1) };
    assert.equal((await reward(outOfForm, task)).reward, 0);
  });
});
