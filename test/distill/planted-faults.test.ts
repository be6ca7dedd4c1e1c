import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Grader } from "../../src/core/grader.ts";
import type { Task } from "../../src/core/task.ts";
import type { Segment, Trajectory } from "../../src/core/trajectory.ts";
import type { DistillConfig, DistillPlugins } from "../../src/distill/distill-config.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { type RecordOutcome, recordJudge } from "../../src/distill/judge-record.ts";
import { taskIndex } from "../../src/distill/task-index.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { validateSegments } from "../../src/language/validate.ts";
import { testSize } from "../fixtures/test-size.ts";
import { labRuns } from "./lab-runs.ts";

const grade: Grader = (task, answer) => {
  const correct = task.answers.includes(answer?.trim() ?? "");
  return { correct, score: correct ? 1 : 0, reason: `${answer} against ${task.answers.join(", ")}` };
};
const plugins: DistillPlugins = { grade };
const config: DistillConfig = {
  profile: labProfile,
  systemPrompt: false,
  minInteractions: 4,
  reflection: { keepWithout: 1 },
};

/** Each fault: how it is planted into a good chain, and which stage must catch it with which reason. */
interface Fault {
  name: string;
  stage: string;
  reason: RegExp;
  plant(chain: Trajectory, task: Task): Trajectory | null;
}

const withSegments = (chain: Trajectory, segments: Segment[]): Trajectory => ({ ...chain, segments });
const think = (text: string): Segment => ({ tag: "think", text: ` ${text}`, by: "model" });

/** Index of the first tool call; its observation stands right after it. */
const firstCall = (chain: Trajectory) =>
  chain.segments.findIndex((segment, index) => chain.segments[index + 1]?.by === "tool" && segment.by === "model");

const faults: Fault[] = [
  {
    name: "wrong answers",
    stage: "correctness",
    reason: /^wrong answer$/,
    plant: (chain) => ({
      ...chain,
      answer: `${chain.answer}x`,
      segments: chain.segments.with(-1, { ...chain.segments.at(-1)!, text: ` ${chain.answer}x` }),
    }),
  },
  {
    name: "repeated calls",
    stage: "redundancy",
    reason: /^repeated tool input$/,
    plant(chain) {
      const at = firstCall(chain);
      return withSegments(
        chain,
        chain.segments.toSpliced(at + 2, 0, think("once more"), chain.segments[at]!, chain.segments[at + 1]!),
      );
    },
  },
  {
    name: "copied reports",
    stage: "redundancy",
    reason: /^copied content$/,
    plant(chain) {
      const report = chain.segments
        .filter((segment) => segment.by === "tool")
        .map((segment) => segment.text)
        .join(" ");
      if (report.split(/\W+/).length < 20) return null; // nothing long enough to copy
      const last = chain.segments.findLastIndex((segment) => segment.tag === "think");
      return withSegments(chain, chain.segments.with(last, think(`The report says: ${report}`)));
    },
  },
  {
    name: "a missing think",
    stage: "compliance",
    reason: /^think-missing$/,
    plant: (chain) => withSegments(chain, chain.segments.toSpliced(firstCall(chain) - 1, 1)),
  },
  {
    name: "a tag in free text",
    stage: "compliance",
    reason: /^tag-in-text$/,
    plant: (chain) => withSegments(chain, chain.segments.with(0, think("then I give my <answer> at once"))),
  },
  {
    name: "a leaked evaluation question",
    stage: "contamination",
    reason: /^evaluation question/,
    plant: (chain) => ({ ...chain, meta: { leaked: true } }),
  },
  {
    name: "an evaluation question inside a page",
    stage: "contamination",
    reason: /^evaluation question in the chain$/,
    plant(chain) {
      const at = firstCall(chain) + 1;
      const page = chain.segments[at]!;
      return withSegments(
        chain,
        chain.segments.with(at, { ...page, text: `${page.text} Quiz: ${evaluationQuestion}` }),
      );
    },
  },
  {
    name: "a truncated observation",
    stage: "completeness",
    reason: /^truncated observation$/,
    plant(chain) {
      const at = firstCall(chain) + 1;
      const page = chain.segments[at]!;
      const half = page.text.slice(0, Math.ceil(page.text.length / 2));
      return withSegments(chain, chain.segments.with(at, { ...page, text: `${half}... [truncated]` }));
    },
  },
];
const evaluationQuestion = "In which year was the lighthouse of Cape Morven first lit, and by whom was it designed?";

/** Runs of each topology. */
const count = testSize(60, 300);

describe("planted faults", () => {
  const chains: { chain: Trajectory; task: Task }[] = [];
  const tasks = new Map<string, Task>();
  before(async () => {
    for (const topology of ["agents-as-tools", "handoff"] as const) {
      const { tasks: made, runs } = await labRuns({ count, seed: topology === "handoff" ? 12 : 11, topology });
      for (const [index, run] of runs.entries()) {
        const { trajectory } = distillRun(run, { profile: config.profile, systemPrompt: config.systemPrompt });
        const task = made[index]!;
        tasks.set(task.id, task);
        if (trajectory && task.answers.includes(trajectory.answer!)) chains.push({ chain: trajectory, task });
      }
    }
    assert.ok(chains.length > 1.8 * count);
  });
  const judgeAll = (list: Trajectory[], more: Partial<DistillConfig> = {}): Promise<RecordOutcome[]> => {
    const judge = recordJudge({ ...config, ...more }, plugins, taskIndex(tasks.values()));
    return Promise.all(list.map((chain) => judge(JSON.stringify(chain))));
  };

  for (const fault of faults) {
    it(`catches all of: ${fault.name}, in the stage meant for it`, async () => {
      const planted = chains.flatMap(({ chain, task }) => fault.plant(chain, task) ?? []);
      assert.ok(planted.length > count, `${planted.length} planted`);
      const questions = [evaluationQuestion];
      if (fault.name === "a leaked evaluation question") questions.push(...chains.map(({ task }) => task.question));
      const outcomes = await judgeAll(planted, { contamination: { questions } });
      for (const outcome of outcomes) {
        assert.equal(outcome.stage, fault.stage, `${outcome.id}: ${outcome.reason} ${outcome.detail}`);
        assert.match(outcome.reason ?? "", fault.reason);
      }
    });
  }

  it("drops at most 1 % of clean chains, with questions about the same world to evaluate on", async () => {
    const half = chains.length / 2;
    const questions = chains.slice(half).map(({ task }) => task.question);
    const outcomes = await judgeAll(
      chains.slice(0, half).map(({ chain }) => chain),
      { contamination: { questions: [evaluationQuestion, ...questions] } },
    );
    const dropped = outcomes.filter((outcome) => outcome.stage !== null);
    assert.ok(
      dropped.length <= outcomes.length * 0.01,
      dropped
        .slice(0, 5)
        .map((one) => `${one.stage} ${one.reason} ${one.detail}`)
        .join("\n"),
    );
  });

  it("lets nothing out that breaks the profile", async () => {
    for (const outcome of await judgeAll(chains.map(({ chain }) => chain))) {
      if (outcome.stage === null) assert.deepEqual(validateSegments(labProfile, outcome.trajectory!.segments), []);
    }
  });
});
