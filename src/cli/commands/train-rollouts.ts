/**
 * What `train rl` and `train opd` share: flags, and a run in which a model practises on tasks with live tools. They differ in
 * what its rollouts are compared with: each other, or a teacher.
 */
import { readModelUse } from "../../base/files/model-use-file.ts";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import { openDataset } from "../../dataset/dataset-folder.ts";
import { averageModels } from "../../engines/embedded/files/average-models.ts";
import type { Profile } from "../../language/profile.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { type FaultPlan, parseFaultPlan, withFaults } from "../../tools/with-faults.ts";
import { chainRollout } from "../../train/chain-rollout.ts";
import { fromFirstFault, sharedPrefix } from "../../train/credit.ts";
import { fixedExamples } from "../../train/example-source.ts";
import type { ExtraLoss } from "../../train/extra-loss.ts";
import { guard } from "../../train/guard.ts";
import { saveTrained } from "../../train/save-trained.ts";
import type { ContextStage } from "../../train/schedule.ts";
import { trainRl } from "../../train/train-rl.ts";
import { type Command, numberOf, type Options, oneInputFile, type Values } from "../command.ts";
import { choiceOf } from "../flag-values.ts";
import { openWork } from "../open-chain.ts";
import {
  type Coordinator,
  chainOf,
  coordinatorFlags,
  openCoordinator,
  type RolloutChain,
} from "../open-coordinator.ts";
import { findTrainFolder, openTrainEngine, whereWritten } from "../open-train-engine.ts";
import { assertFits, readExamples } from "../read-examples.ts";
import type { SectionName, Settings } from "../settings/index.ts";
import { openGrader } from "./eval-grading.ts";
import { rewardFlags, rewardOf } from "./reward-flags.ts";
import { readTrainFlags, trainFlags } from "./train-flags.ts";

/** Flags of a run of rollouts and updates. */
export const rolloutFlags = {
  model: { type: "string", short: "m", valueName: "folder", describe: "Model to start from, usually one trained by: coa train sft" },
  steps: { type: "string", default: "60", valueName: "n", describe: "Steps of rollouts and updates" },
  groups: { type: "string", default: "64", valueName: "n", describe: "Groups (tasks) per step that must have something to teach" },
  samples: { type: "string", default: "8", valueName: "n", describe: "Rollouts per task" },
  "clip-low": { type: "string", default: "0.2", valueName: "x", describe: "Lower clip of the ratio" },
  "clip-high": { type: "string", default: "0.28", valueName: "x", describe: "Upper clip of the ratio" },
  "dual-clip": { type: "string", default: "10", valueName: "c", describe: "Bound on the loss of bad rollouts" },
  updates: { type: "string", default: "2", valueName: "n", describe: "Updates per pass over a step's rollouts" },
  passes: { type: "string", default: "1", valueName: "n", describe: "Passes over a step's rollouts" },
  baseline: { type: "string", default: "group", valueName: "name", describe: "group (DAPO) or least-variance: learns faster when failed rollouts are long and unlikely" },
  "rate-from-groups": { type: "boolean", default: false, describe: "Let a step that has fewer groups than were asked for move the weights by as much less" },
  temperature: { type: "string", default: "1", valueName: "t", describe: "Temperature of the rollouts; the loss uses the same" },
  "credit-after-fault": { type: "boolean", default: false, describe: "With --tool-faults: credit a chain only with what it wrote after its first fault" },
  "branch-at-fault": { type: "boolean", default: false, describe: "With --tool-faults: continue a task's first rollout from its first fault --samples times, and compare only what follows" },
  guard: { type: "string", valueName: "dataset", describe: "A dataset of demonstrations that are imitated in every update, so that what was taught is not lost" },
  "guard-weight": { type: "string", default: "1", valueName: "x", describe: "How much the mean loss of --guard counts beside the policy's" },
  average: { type: "string", default: "0", valueName: "share", describe: "Average the weights over this last share of the steps" },
  "start-share": { type: "string", default: "0", valueName: "share", describe: "With --average: how much of the mean are the weights it started from" },
  context: { type: "string", valueName: "stages", describe: "Longest context by step: 16384,32768@40 is 16384 tokens, and 32768 from step 40 on" },
  "max-tokens": { type: "string", valueName: "n", describe: "Tokens a rollout may write; as the model was taught, or 1024" },
  concurrency: { type: "string", valueName: "n", describe: "Rollouts at the same time (default 64, or all that are in flight)" },
  "max-staleness": { type: "string", default: "0", valueName: "n", describe: "Steps between the weights that sampled a token and those trained on it; 0: every step waits for its own rollouts" },
  "in-flight": { type: "string", valueName: "n", describe: "With --max-staleness: groups begun and not yet trained on (default: enough for that many steps and one more)" },
  ...coordinatorFlags,
  ...rewardFlags,
  ...trainFlags,
} as const satisfies Options; // biome-ignore format: one flag a line

/** Sections that a run of rollouts reads. */
export const rolloutSections = ["chain", "tools", "judge", "grader"] as const satisfies SectionName[];

type RolloutValues = Values<typeof rolloutFlags>;
type RolloutSettings = Settings<(typeof rolloutSections)[number]>;
type RunContext = Parameters<Command["run"]>[0];

/** What a teacher is made from. */
export interface Practice {
  tokenizer: Tokenizer;
  profile: Profile;
  /** The tools of a task, without faults. */
  toolsOf: (task: Task) => readonly Tool[];
}

/** What the command adds to the loop, and how to close it. */
export type Teach = (practice: Practice) => Promise<{ loss: ExtraLoss; rewardWeight: number; close(): Promise<void> }>;

/** Trains on rollouts and writes the model; prints what came of it. */
export async function trainOnRollouts(
  command: { name: string; examples: string[] },
  {
    values,
    settings,
    positionals,
    out,
    signal,
  }: Pick<RunContext, "positionals" | "out" | "signal"> & {
    values: RolloutValues & { json: boolean };
    settings: RolloutSettings;
  },
  teach?: Teach,
): Promise<number> {
  const file = oneInputFile(command, positionals, "a file of tasks");
  const baseline = choiceOf(values.baseline, "baseline", ["group", "least-variance"]);
  const some = (name: "steps" | "groups" | "samples" | "updates" | "passes" | "concurrency" | "in-flight") =>
    numberOf(values[name], name, { min: 1, integer: true });
  const whole = (name: Parameters<typeof some>[0]) => some(name)!;
  const flags = readTrainFlags(values as never, { rate: 1e-6, checkpointEvery: 5, decay: "constant" });
  const steps = whole("steps");
  const temperature = numberOf(values.temperature, "temperature", { min: 0.01 })!;
  const keepModels = numberOf(values.average, "average", { min: 0, max: 1 })!;
  const startShare = numberOf(values["start-share"], "start-share", { min: 0, max: 1 })!;
  if (startShare > 0 && keepModels === 0)
    throw new UsageError("--start-share is a part of the mean that --average writes: add --average 0.5");
  const { faults } = settings.tools;
  const plan = faultPlan(values, faults);
  const context = readStages(values.context);
  const maxTokens = numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true });
  const loaded = await loadTasks(file, { signal });
  if (loaded.length === 0) throw new UsageError(`${file} has no tasks`);
  const start = findTrainFolder(values, { name: command.name, example: command.examples[0]! });
  const use = await readModelUse(start);
  const opened = await openWork(
    { ...settings, tools: { ...settings.tools, faults: undefined } },
    { note: out.note, signal, use },
  );
  const { profile, toolsOf } = opened;
  const maxCompletionTokens = maxTokens ?? use?.limits?.["maxCompletionTokens"] ?? 1024;
  const needed = teach ? undefined : "a reward that can't tell a wrong answer teaches nothing";
  const graders = await openGrader(settings, loaded, { needed, parts: "every" });
  const { tasks } = graders;
  const reward = rewardOf(values, graders.grader, profile);
  const trained = await openTrainEngine(values, start, out.note);
  const { engine, tokenizer } = trained;
  const chain: RolloutChain = {
    temperature,
    limits: { ...use?.limits, maxCompletionTokens },
    bareQuestion: settings.chain.bareQuestion || use?.question === "bare",
  };
  /** The tools of a task; faults as they are at this step. */
  const disturbed = (task: Task, step: number) =>
    plan ? withFaults(toolsOf(task), plan, step / Math.max(1, steps - 1)) : toolsOf(task);
  let taught: Awaited<ReturnType<Teach>> | undefined;
  let coordinator: Coordinator | undefined;
  try {
    coordinator = await openCoordinator(
      { ...values, faults },
      { engine, tokenizer, profile, task: tasks[0]!, toolsOf, chain },
      out.note,
    );
    const guards = await openGuard(values, { tokenizer, maxContext: engine.capabilities.maxContext, seed: flags.seed });
    taught = await teach?.({ tokenizer, profile, toolsOf });
    const result = await trainRl({
      engine,
      tokenizer,
      tasks,
      rollout:
        coordinator?.play ?? chainRollout({ ...chainOf(chain), profile, model: trained.modelFor, tools: disturbed }),
      reward,
      steps,
      collect: {
        groups: whole("groups"),
        samples: whole("samples"),
        concurrency: some("concurrency") ?? (coordinator && 4096),
        maxStaleness: numberOf(values["max-staleness"], "max-staleness", { min: 0, integer: true }),
        inFlight: some("in-flight"),
        context,
      },
      credit: {
        baseline,
        ...(values["credit-after-fault"] && fromFirstFault()),
        ...(values["branch-at-fault"] && sharedPrefix()),
        rewardWeight: taught?.rewardWeight,
      },
      extraLosses: [...(taught ? [taught.loss] : []), ...guards],
      loss: {
        name: "ppo",
        clipLow: numberOf(values["clip-low"], "clip-low", { min: 0 })!,
        clipHigh: numberOf(values["clip-high"], "clip-high", { min: 0 })!,
        dualClip: numberOf(values["dual-clip"], "dual-clip", { min: 1 }),
        temperature,
      },
      optimizer: flags.optimizer,
      schedule: { ...flags.schedule, byGroups: values["rate-from-groups"] },
      updates: { passes: whole("passes"), perPass: whole("updates"), microBatchTokens: flags.microBatchTokens },
      seed: flags.seed,
      folder: values.out,
      resume: choiceOf(values.resume, "resume", ["auto", "never", "fresh"]),
      keep: {
        checkpointEvery: flags.checkpointEvery,
        models: keepModels,
        config: {
          ...trained.description,
          profile: profile.name,
          faults,
          grading: graders.measure,
        },
      },
      signal,
      onProgress: out.progress,
    });
    const written = trained.folders(values.out);
    const training = { stage: command.name.split(" ")[1]!, data: result.dataFingerprint, seed: flags.seed };
    await saveTrained(written, {
      ...{ engine, tokenizer, from: start, training },
      ...(result.models.length > 0 && {
        weights: (into: string) => averageModels(result.models, into, { start: { folder: start, share: startShare } }),
      }),
    });
    out.endProgress();
    if (values.json) out.json({ ...result, ...written });
    else
      out.print(
        `${result.rollouts} rollouts, reward ${result.firstReward.toFixed(3)} -> ${result.lastReward.toFixed(3)}. ${whereWritten(written)}`,
      );
    if (result.lastReward === 0 && !taught) {
      out.note(
        "No rollout was ever right, so nothing was learned: teach the model first (coa train sft), or choose easier tasks (coa tasks select).",
      );
      return 1;
    }
    if (result.updates === 0) {
      const groups =
        values["credit-after-fault"] || values["branch-at-fault"]
          ? "In no group did a right and a wrong rollout differ after a fault, so nothing was learned: give more faults"
          : "Every group of rollouts was all right or all wrong, so nothing was learned: choose tasks in between (coa tasks select)";
      out.note(`${groups}, or more --samples.`);
      return 1;
    }
    return 0;
  } finally {
    await coordinator?.close();
    await taught?.close();
    await trained.close();
    await opened.close();
    await graders.close();
  }
}

/** The plan of `--tool-faults`. */
function faultPlan(values: RolloutValues, faults: string | undefined): FaultPlan | undefined {
  if (faults) return parseFaultPlan(faults);
  if (values["credit-after-fault"])
    throw new UsageError("--credit-after-fault needs faults to credit after: give --tool-faults");
  if (values["branch-at-fault"])
    throw new UsageError("--branch-at-fault needs faults to branch at: give --tool-faults");
  return undefined;
}

/** Tokens of demonstrations in one update. */
const guardTokens = 2048;

/** The demonstrations of `--guard`. */
async function openGuard(
  values: RolloutValues,
  { tokenizer, maxContext, seed }: { tokenizer: Tokenizer; maxContext: number; seed: number },
): Promise<ExtraLoss[]> {
  const coefficient = numberOf(values["guard-weight"], "guard-weight", { min: 0 })!;
  if (values.guard === undefined) return [];
  const dataset = await openDataset(values.guard);
  assertFits(dataset, { tokenizer, maxContext, name: values.model });
  const examples = await readExamples(dataset);
  return [guard(fixedExamples(examples, guardTokens, seed), coefficient)];
}

/** `16384,32768@40`: tokens, each from the step after its `@` on. */
function readStages(text: string | undefined): ContextStage[] | undefined {
  return text?.split(",").map((part) => {
    const found = /^\s*(\d+)(?:@(\d+))?\s*$/.exec(part);
    if (!found) throw new UsageError(`--context takes tokens[@step], such as 16384,32768@40, not "${part}"`);
    return { tokens: Number(found[1]), fromStep: Number(found[2] ?? 0) };
  });
}
