/**
 * What `train rl` and `train opd` share: a run in which a model practises on tasks with live tools. They differ in what its
 * rollouts are compared with: each other, or a teacher.
 */
import { readModelUse } from "../../base/files/model-use-file.ts";
import { accessOf, checkReach } from "../../base/http/access.ts";
import { listen } from "../../base/http/listen.ts";
import type { Engine } from "../../core/engine.ts";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import { averageModels, loadModelConfig } from "../../engines/embedded/files/model-folder.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import type { Profile } from "../../language/profile.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { parseFaultPlan, withFaults } from "../../tools/with-faults.ts";
import { chainRollout, changedChains, greedyChains } from "../../train/chain-rollout.ts";
import { saveTrained } from "../../train/save-trained.ts";
import { trainRl } from "../../train/train-rl.ts";
import { coordinatorHandler } from "../../train/workers/coordinator-handler.ts";
import { leaseBoard } from "../../train/workers/lease-board.ts";
import { chainOf, type RolloutChain, type RunForWorkers, workerIdentity } from "../../train/workers/worker-protocol.ts";
import { type Done, type Invocation, oneInputFile } from "../command.ts";
import { openWork } from "../open-chain.ts";
import { openFolder } from "../open-model.ts";
import { findTrainFolder, openTrainEngine, whereWritten } from "../open-train-engine.ts";
import type { Section, SectionName } from "../settings/index.ts";
import { openGrader } from "./eval-grading.ts";
import {
  creditOf,
  nothingLearned,
  openGuard,
  readStages,
  rewardOf,
  rightOnes,
  rlSettings,
  samplerOf,
  someTasks,
  type Teach,
} from "./rl-settings.ts";
import { calledAs, type trainOptions, usualRate } from "./train-options.ts";

/** The sections of settings that a run of rollouts and updates reads, and which of their flags it does not show. */
export const rolloutReads = [
  ...(["train", "engine", "chain", "tools", "limits", "judge", "grader", "reward", "workers"] as const),
] as const satisfies SectionName[];
export const rolloutHides = ["epochs", "optimizer", "threads", "lab", "tools", "mcp", "recorded"];

/** Trains on rollouts and writes the model; prints what came of it. */
export async function trainOnRollouts(
  stage: "rl" | "opd",
  {
    values,
    settings,
    positionals,
    out,
    signal,
    session,
  }: Invocation<typeof trainOptions, (typeof rolloutReads)[number]>,
  teach?: Teach,
): Promise<Done> {
  const file = oneInputFile(positionals, "a file of tasks");
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
  const start = await findTrainFolder(values.model, settings.engine);
  const use = await readModelUse(start);
  const whole = { ...settings, tools: { ...settings.tools, faults: undefined } };
  const { profile, toolsOf } = await openWork(whole, session, use);
  const needed = teach ? undefined : "a reward that can't tell a wrong answer teaches nothing";
  const graders = await openGrader(settings, session, loaded, { needed, parts: "every" });
  const { tasks } = graders;
  const how = { ...train, seed: values.seed };
  const trained = session.closeAtEnd(await openTrainEngine(settings.engine, start, how, out.note));
  const { engine, tokenizer } = trained;
  const parameters = settings.engine.kind === "tinker" ? 0 : parameterCount(await loadModelConfig(start));
  const usual = usualRate("rl", { parameters, ...train, lora: settings.engine.lora });
  if (train.rate === undefined) out.note(usual.reason);
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
  const chains = { ...chainOf(chain), profile, model: trained.modelFor };
  const reward = rewardOf(settings.reward, graders.grader, profile);
  const measured = coordinator ? [] : someTasks(tasks, greedyTasks(steps * train.groups * train.samples), values.seed);
  const practice = chainRollout({ ...chains, tools });
  const before = await greedyChains(measured, practice, { policy: await engine.publish(), signal });
  const ownRight = async (count: number) => {
    const some = someTasks(tasks, count, values.seed);
    const own = chainRollout({ ...chains, tools: toolsOf });
    return rightOnes(await greedyChains(some, own, { policy: await engine.publish(), signal }), some, reward, signal);
  };
  const result = await trainRl({
    ...rlSettings(train, { ...usual, steps }, { context, concurrency: coordinator && 4096 }),
    ...{ engine, tokenizer, tasks, steps, signal, reward },
    rollout: coordinator?.play ?? practice,
    credit: { ...credit, rewardWeight: taught?.rewardWeight },
    extraLosses: [...(taught ? [taught.loss] : []), ...(await openGuard(train, trained, values, ownRight))],
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
  const training = { stage, data: result.dataFingerprint, seed: values.seed };
  const mean = { start: { folder: start, share: train.startShare } };
  const weights = (into: string) => averageModels(result.models, into, mean);
  await saveTrained(written, {
    engine,
    tokenizer,
    from: start,
    training,
    card: {
      command: calledAs(),
      results: {
        rollouts: result.rollouts,
        "reward, first fifth": result.firstReward,
        "reward, last fifth": result.lastReward,
      },
    },
    ...(result.models.length > 0 && { weights }),
  });
  out.endProgress();
  for (const path of result.damaged)
    out.note(`damaged and set aside, so the run went on from the checkpoint before: ${path}`);
  const { rollouts, firstReward, lastReward } = result;
  const rewards = `${firstReward.toFixed(3)} -> ${lastReward.toFixed(3)}`;
  const { of, changed } = await changedAnswers();
  const answers = of === 0 ? undefined : { of, changed };
  const differ = answers ? ` ${changed} of ${of} greedy answers changed.` : "";
  if (result.collapse) out.note(`The policy may be collapsing: ${result.collapse}.`);
  const problem = nothingLearned(result, {
    taught: taught !== undefined,
    credit: train.credit,
    answers,
    rate: train.rate ?? usual.rate,
  });
  if (problem) out.note(problem);
  return {
    json: { ...result, ...written, ...(answers && { answers }) },
    text: `${rollouts} rollouts, reward ${rewards}.${differ} ${whereWritten(written)}`,
    code: problem ? 1 : 0,
  };

  /** Averaged weights are in the folder alone; others are still in the engine. */
  async function changedAnswers(): Promise<{ of: number; changed: number }> {
    const of = measured.length;
    if (of === 0) return { of, changed: 0 };
    const { model } = result.models.length > 0 && written.model ? await openWritten(written.model) : chains;
    const policy = await engine.publish();
    const after = await greedyChains(measured, chainRollout({ ...chains, tools, model }), { policy, signal });
    return { of, changed: changedChains(before, after) };
  }

  async function openWritten(folder: string) {
    const opened = await openFolder(folder);
    session.closeAtEnd(opened.engine);
    return opened;
  }
}

/** Tasks answered greedily before and after so many rollouts: what that costs stays small, and a handful says nothing. */
function greedyTasks(rollouts: number): number {
  return rollouts < 100 ? 0 : Math.min(100, Math.ceil(rollouts / 8));
}

/**
 * The port on which workers take rollouts of `train rl`: they then run the chains, and this process trains and rewards.
 */
async function openCoordinator(
  settings: Section<"workers">,
  run: {
    engine: Engine;
    tokenizer: Tokenizer;
    profile: Profile;
    task: Task;
    toolsOf: (task: Task) => readonly Tool[];
    chain: RolloutChain;
    sampler?: RunForWorkers["sampler"];
  },
  note: (text: string) => void,
) {
  const { port, host, key = process.env["COA_WORKERS_KEY"], silenceSeconds, deadlineSeconds } = settings;
  if (port === undefined) return undefined;
  checkReach(host, key !== undefined, "set workers.key=<key>");
  const silenceMs = 1000 * silenceSeconds;
  const board = leaseBoard({ deadlineMs: 1000 * deadlineSeconds, silenceMs });
  const { engine, tokenizer, profile, task, chain, sampler } = run;
  const handler = coordinatorHandler({
    board,
    run: {
      identity: workerIdentity({ profile, tools: run.toolsOf(task), tokenizer }),
      task,
      chain,
      capabilities: engine.capabilities,
      silenceMs,
      sampler,
    },
    access: accessOf(host),
    ...(key ? { keys: [key] } : {}),
  });
  const server = await listen(handler, { port, host });
  note(`Rollouts wait for workers: coa worker --coordinator ${server.origin}`);
  return {
    play: board.play,
    /** Ends the run for its workers. */
    async close() {
      board.close();
      await server.drain(5000);
    },
  };
}
