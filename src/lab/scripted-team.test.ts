import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testSize } from "../../test/fixtures/test-size.ts";
import type { Task } from "../core/task.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { trajectoryText } from "../core/trajectory.ts";
import { distillRun } from "../distill/distill-run.ts";
import { layOutChain } from "../distill/lay-out-chain.ts";
import { readMoves } from "../distill/read-moves.ts";
import { chainPath, teamPath } from "../evaluate/critical-path.ts";
import { validateSegments } from "../language/validate.ts";
import { runTeam } from "../team/run-team.ts";
import { runTeams } from "../team/run-teams.ts";
import { pyodideSandbox } from "../tools/sandbox/pyodide-launch.ts";
import { type FaultPlan, withFaults } from "../tools/with-faults.ts";
import { createWorld } from "./create-world.ts";
import { labLimits } from "./lab-model-use.ts";
import { memoryLabTools } from "./memory-lab-tools.ts";
import { labProfile, wideLabProfile } from "./profile.ts";
import { realLabTools } from "./real-lab-tools.ts";
import { scriptedSpecialists } from "./scripted-specialists.ts";
import { worldTasks } from "./world-tasks.ts";

const world = createWorld({ seed: 2, pages: 600, split: "test" });
const tasks = worldTasks(world, { count: testSize(100, 500) });
const share = (runs: readonly TeamRun[], test: (run: TeamRun) => boolean) => runs.filter(test).length / runs.length;

async function play(asked: readonly Task[], options: Partial<Parameters<typeof runTeam>[1]> = {}): Promise<TeamRun[]> {
  const tools = memoryLabTools(world);
  const runs: TeamRun[] = [];
  for (const task of asked) runs.push(await runTeam(task, { roles: scriptedSpecialists(), tools, ...options }));
  return runs;
}

const solved = (asked: readonly Task[], runs: readonly TeamRun[]) =>
  runs.filter((run) => asked.find((task) => task.id === run.taskId)!.answers.includes(run.answer ?? "")).length /
  asked.length;

describe("the scripted team", () => {
  it("solves at least 97 % of held-out tasks with the real index, real HTTP and the real sandbox", async () => {
    const sandbox = pyodideSandbox({ isolation: "run" });
    const lab = await realLabTools(world, sandbox);
    try {
      const runs: TeamRun[] = [];
      const roles = scriptedSpecialists();
      for await (const run of runTeams(tasks, { roles, tools: lab.tools, concurrency: 8 })) {
        teamRunSchema.parse(run);
        for (const step of run.steps) for (const key of step.input) assert.ok(run.messages[key]);
        runs.push(run);
      }
      assert.ok(solved(tasks, runs) >= 0.97, String(solved(tasks, runs)));
      const told = runs
        .flatMap((run) => run.agents.map((agent) => agent.instructions))
        .filter((text) => text !== undefined);
      assert.equal(new Set(told).size, 6);
      assert.ok(told.every((text) => text.length > 300));
      const models = new Set(runs.flatMap((run) => run.steps.map((step) => step.model)));
      assert.ok([...models].every((model) => model!.startsWith("scripted-")));
      const sameByMemory = await play(tasks.slice(0, 60));
      for (const run of sameByMemory) {
        const real = runs.find((one) => one.taskId === run.taskId)!;
        const results = (one: TeamRun) => one.steps.flatMap((step) => step.toolCalls.map((call) => call.result));
        assert.deepEqual(results(real), results(run));
      }
    } finally {
      await lab.close();
      await sandbox.close();
    }
  });

  it("goes wrong at first in a share of the runs, and recovers by reflection, verification and new plans", async () => {
    const runs = await play(tasks);
    const replanned = share(runs, (run) => run.replans! > 0);
    assert.ok(replanned > 0.12 && replanned < 0.25, `replanned ${replanned}`);
    assert.ok(share(runs, (run) => run.scores!.some((score) => score! < 3)) > 0.01);
    assert.ok(share(runs, (run) => run.steps.some((step) => step.move === "review" && /Poor/.test(step.text))) > 0.08);
    assert.ok(share(runs, (run) => run.replans! > 1) > 0.01);
    assert.ok(runs.every((run) => run.ending.verified));
  });

  it("plays the same in both topologies", async () => {
    const asked = tasks.slice(0, 100);
    const isolated = await play(asked);
    const shared = await play(asked, { topology: "handoff" });
    assert.equal(solved(asked, shared), 1);
    isolated.forEach((run, index) => {
      const other = shared[index]!;
      assert.deepEqual(
        run.steps.map((step) => step.move),
        other.steps.map((step) => step.move),
      );
      assert.ok(other.usage.billedTokens > run.usage.billedTokens);
    });
  });

  it("becomes short chains that keep the lab's grammar, without a thought made up", async () => {
    const lengths = (await play(tasks)).map((run) => {
      const laid = layOutChain(readMoves(run), run.answer!, labProfile, {});
      assert.deepEqual(validateSegments(labProfile, laid.segments), []);
      assert.deepEqual([laid.filledThoughts, laid.filledChecks, laid.repeatedCalls], [0, 0, 0]);
      for (const segment of laid.segments)
        if (segment.tag === "think") assert.ok(segment.text.length < 60, segment.text);
      return trajectoryText(laid.segments).length;
    });
    assert.ok(Math.max(...lengths) < 3_500);
  });

  it("sees only messages: another answer key or another world behind the same texts changes nothing", async () => {
    const asked = tasks.slice(0, 25);
    const blind = asked.map((task) => ({ ...task, answers: ["something else"], family: undefined, meta: undefined }));
    const trace = (runs: TeamRun[]) =>
      runs.map((run) => [run.answer, run.steps.map((step) => [step.text, step.reasoning])]);
    assert.deepEqual(trace(await play(blind)), trace(await play(asked)));
  });

  it("scores a proposal below 3 that the evidence does not support", () => {
    const { verifier } = scriptedSpecialists();
    const judge = (question: string, evidence: string, proposal: string) => {
      const content = `Question: ${question}\n\nEvidence:\n${evidence}\n\nProposed answer: ${proposal}\n\nVerifier, check it and give your score.`;
      return Number(/\d/.exec(verifier({ messages: [{ role: "user", content }] }).text!)![0]);
    };
    const page = (text: string) =>
      `## Step 1: reader_agent\nTask: t\n### crawl_page {"urls":["http://lab/1"]}\n${text}\nReport: r`;
    const question = "What is the founding year of the city Kamire?";
    assert.equal(judge(question, page("Old. Kamire is a city. It dates from 1620."), "1620"), 4);
    assert.equal(judge(question, page("Old. Kamire is a company. It dates from 1620."), "1620"), 2);
    assert.equal(judge(question, page("Old. Kamira is a city. It dates from 1620."), "1620"), 2);
    assert.equal(judge(question, page("Old. Kamire is a city. It dates from 1620."), "1602"), 1);
    assert.equal(judge(question, "Nothing has been done yet.", "1620"), 2);
    const run = (code: string, output: string) =>
      `## Step 1: code_agent\nTask: t\n### code {"code":"${code}"}\n${output}\nReport: r`;
    assert.equal(judge("Find 12 times 30 plus 4.", run("print(12 * 30 + 4)", "364"), "364"), 4);
    assert.equal(judge("Find 12 times 30 plus 4.", run("print(12 * 30)", "360"), "360"), 2);
    assert.equal(judge("Find 12 times 30 plus 4.", run("print(12 * 30 + 4)", "364"), "346"), 1);
  });

  it("errs in about the share of runs asked for, in well-formed ways that its verifier accepts", async () => {
    const runs = await play(tasks, { roles: scriptedSpecialists({ imperfect: 0.4, seed: 1 }) });
    const wrong = 1 - solved(tasks, runs);
    assert.ok(wrong > 0.33 && wrong < 0.47, String(wrong));
    assert.ok(runs.every((run) => run.ending.verified));
    for (const run of runs.slice(0, 100)) {
      const laid = layOutChain(readMoves(run), run.answer!, labProfile, {});
      assert.deepEqual(validateSegments(labProfile, laid.segments), []);
    }
    const again = await play(tasks.slice(0, 50), { roles: scriptedSpecialists({ imperfect: 0.4, seed: 1 }) });
    assert.deepEqual(
      again.map((run) => run.answer),
      runs.slice(0, 50).map((run) => run.answer),
    );
    const otherTry = await play(tasks.slice(0, 50), {
      roles: scriptedSpecialists({ imperfect: 0.4, seed: 1 }),
      seed: 7,
    });
    assert.notDeepEqual(
      otherTry.map((run) => run.answer),
      runs.slice(0, 50).map((run) => run.answer),
    );
  });

  it("gets through searches that find nothing and calls that fail", async () => {
    const plan: FaultPlan = {
      seed: 1,
      faults: [
        { kind: "empty", rate: 0.3, tools: ["web_search"] },
        { kind: "timeout", rate: 0.15 },
        { kind: "error", rate: 0.3, tools: ["crawl_page"] },
      ],
    };
    const asked = tasks.slice(0, 100);
    const runs: TeamRun[] = [];
    const tools = withFaults(memoryLabTools(world), plan);
    for (const task of asked) runs.push(...(await play([task], { tools, id: task.id })));
    assert.ok(solved(asked, runs) >= 0.97, String(solved(asked, runs)));
    const failed = (run: TeamRun) => run.steps.some((step) => step.toolCalls.some((call) => call.error !== undefined));
    assert.ok(share(runs, failed) > 0.5, String(share(runs, failed)));
  });

  it("walks four and five facts deep where such questions are asked", async () => {
    const asked = worldTasks(world, { count: 40, families: ["hop4", "hop5"] });
    assert.ok(asked.every((task) => (task.question.match(/ of /g) ?? []).length >= 4));
    const runs = await play(asked);
    assert.equal(solved(asked, runs), 1);
    for (const [index, run] of runs.entries()) {
      const { trajectory } = distillRun(run, { profile: labProfile, systemPrompt: false });
      const { segments, violations } = trajectory!;
      assert.deepEqual(violations, []);
      const [plan] = segments.filter(({ tag }) => tag === "plan");
      assert.equal(plan!.text.trim().split("\n").length, asked[index]!.family === "hop4" ? 4 : 5);
      // What a chain of the lab may need at most, so that a student can play what it is shown.
      assert.ok(segments.filter(({ tag }) => tag === "observation").length < labLimits.maxSteps);
    }
  });

  it("sends several workers at once where their look-ups do not depend on each other, and solves as much", async () => {
    const asked = worldTasks(world, { count: 60, families: ["mixed", "both", "hop1"] });
    const narrow = await play(asked);
    const wide = await play(asked, { roles: scriptedSpecialists({ wide: true }) });
    assert.equal(solved(asked, wide), 1);
    // Every call of the reflector has a reason, also where the page beside the wrong one was right.
    assert.ok(wide.every(({ steps }) => steps.every(({ reasoning }) => reasoning !== "all in order")));
    const rounds = (runs: readonly TeamRun[], family: string) =>
      runs
        .filter((_, index) => asked[index]!.family === family)
        .reduce((sum, run) => {
          const { trajectory } = distillRun(run, { profile: wideLabProfile, systemPrompt: false });
          return sum + chainPath(trajectory!).rounds;
        }, 0);
    for (const family of ["mixed", "both"])
      assert.ok(rounds(wide, family) < 0.75 * rounds(narrow, family), `${family} ${rounds(wide, family)}`);
    assert.equal(rounds(wide, "hop1"), rounds(narrow, "hop1"));
    const path = (runs: readonly TeamRun[]) => runs.reduce((sum, run) => sum + teamPath(run).rounds, 0);
    assert.ok(path(wide) < path(narrow));
    // In a shared history one speaks after the other.
    const shared = await play(asked.slice(0, 6), { roles: scriptedSpecialists({ wide: true }), topology: "handoff" });
    assert.equal(solved(asked.slice(0, 6), shared), 1);
  });
});
