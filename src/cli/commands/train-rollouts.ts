/**
 * What `train rl` and `train opd` share: a run in which a model practises on tasks with live tools. They differ in what its
 * rollouts are compared with: each other, or a teacher.
 */
import { readModelUse } from "../../base/files/model-use-file.ts";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { averageModels } from "../../engines/embedded/files/average-models.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { parseFaultPlan, withFaults } from "../../tools/with-faults.ts";
import { chainRollout } from "../../train/chain-rollout.ts";
import { saveTrained } from "../../train/save-trained.ts";
import { trainRl } from "../../train/train-rl.ts";
import { chainOf } from "../../train/workers/worker-protocol.ts";
import { type Command, type Invocation, oneInputFile } from "../command.ts";
import { openWork } from "../open-chain.ts";
import { openCoordinator } from "../open-coordinator.ts";
import { findTrainFolder, openTrainEngine, whereWritten } from "../open-train-engine.ts";
import { rewardOf } from "../reward-of.ts";
import type { SectionName } from "../settings/index.ts";
import { openGrader } from "./eval-grading.ts";
import { creditOf, nothingLearned, openGuard, readStages, rlSettings, samplerOf, type Teach } from "./rl-settings.ts";
import type { trainOptions } from "./train-options.ts";

/** The sections of settings that a run of rollouts and updates reads, and which of their flags it does not show. */
export const rolloutReads = [
  ...(["train", "engine", "chain", "tools", "limits", "judge", "grader", "reward", "workers"] as const),
] as const satisfies SectionName[];
export const rolloutHides = ["epochs", "optimizer", "threads", "lab", "tools", "mcp", "recorded"];

/** Trains on rollouts and writes the model; prints what came of it. */
export async function trainOnRollouts(
  command: Pick<Command, "name" | "examples">,
  {
    values,
    settings,
    positionals,
    out,
    signal,
    session,
  }: Invocation<typeof trainOptions, (typeof rolloutReads)[number]>,
  teach?: Teach,
): Promise<number> {
  const file = oneInputFile(command, positionals, "a file of tasks");
  const { train } = settings;
  const steps = train.steps ?? 60;
  const { faults } = settings.tools;
  const plan = faults === undefined ? undefined : parseFaultPlan(faults);
  const credit = creditOf(train, plan);
  const context = readStages(train.context);
  if (plan && settings.workers.port !== undefined)
    throw new UsageError("--tool-faults can't be used with workers: leave --workers-port out");
  const loaded = await loadTasks(file, { signal });
  if (loaded.length === 0) throw new UsageError(`${file} has no tasks`);
  const start = await findTrainFolder(values.model, settings.engine, command);
  const use = await readModelUse(start);
  const whole = { ...settings, tools: { ...settings.tools, faults: undefined } };
  const { profile, toolsOf } = await openWork(whole, session, use);
  const needed = teach ? undefined : "a reward that can't tell a wrong answer teaches nothing";
  const graders = await openGrader(settings, session, loaded, { needed, parts: "every" });
  const { tasks } = graders;
  const how = { ...train, seed: values.seed };
  const trained = session.closeAtEnd(await openTrainEngine(settings.engine, start, how, out.note));
  const { engine, tokenizer } = trained;
  const taught = await teach?.({ tokenizer, profile, toolsOf });
  const { maxTokens, maxSteps = use?.limits?.["maxSteps"] } = settings.limits;
  const maxCompletionTokens = maxTokens ?? use?.limits?.["maxCompletionTokens"] ?? 1024;
  const chain = {
    temperature: train.temperature,
    limits: { ...use?.limits, maxCompletionTokens, ...(maxSteps !== undefined && { maxSteps }) },
    bareQuestion: settings.chain.bareQuestion || use?.question === "bare",
  };
  const shared = { engine, tokenizer, profile, task: tasks[0]!, toolsOf, chain, sampler: samplerOf(settings.engine) };
  const coordinator = session.closeAtEnd(await openCoordinator(settings.workers, shared, out.note));
  const tools = (task: Task, step: number) =>
    plan ? withFaults(toolsOf(task), plan, step / Math.max(1, steps - 1)) : toolsOf(task);
  const result = await trainRl({
    ...rlSettings(train, { context, concurrency: coordinator && 4096 }),
    ...{ engine, tokenizer, tasks, steps, signal },
    rollout: coordinator?.play ?? chainRollout({ ...chainOf(chain), profile, model: trained.modelFor, tools }),
    reward: rewardOf(settings.reward, graders.grader, profile),
    credit: { ...credit, rewardWeight: taught?.rewardWeight },
    extraLosses: [...(taught ? [taught.loss] : []), ...(await openGuard(train, trained, values))],
    seed: values.seed,
    folder: values.out,
    resume: values.resume,
    keep: {
      checkpointEvery: train.checkpointEvery ?? 5,
      models: train.average,
      config: {
        ...trained.description,
        profile: profile.name,
        faults,
        grading: graders.measure,
      },
    },
    onProgress: out.progress,
  });
  const written = trained.folders(values.out);
  const training = { stage: command.name.split(" ")[1]!, data: result.dataFingerprint, seed: values.seed };
  const mean = { start: { folder: start, share: train.startShare } };
  const weights = (into: string) => averageModels(result.models, into, mean);
  await saveTrained(written, {
    engine,
    tokenizer,
    from: start,
    training,
    ...(result.models.length > 0 && { weights }),
  });
  out.endProgress();
  for (const path of result.damaged)
    out.note(`damaged and set aside, so the run went on from the checkpoint before: ${path}`);
  const { rollouts, firstReward, lastReward } = result;
  const rewards = `${firstReward.toFixed(3)} -> ${lastReward.toFixed(3)}`;
  if (values.json) out.json({ ...result, ...written });
  else out.print(`${rollouts} rollouts, reward ${rewards}. ${whereWritten(written)}`);
  const problem = nothingLearned(result, taught !== undefined, train.credit);
  if (problem) out.note(problem);
  return problem ? 1 : 0;
}
