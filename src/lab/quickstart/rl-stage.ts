/**
 * DAPO: the model tries new tasks with live tools, and what worked better than the other tries is made more likely.
 * Half of the searches fail here, which no demonstration showed: the model has to find out what to do then. The tries
 * of a task share a chain up to its first failing search and differ in what they do about it; some demonstrations are
 * repeated beside them so that nothing is lost. After a team that makes mistakes, tools work, and RL corrects the
 * mistakes.
 */
import { join } from "node:path";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import type { Example } from "../../core/engine.ts";
import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { trajectoryToExample } from "../../dataset/trajectory-to-example.ts";
import { averageModels } from "../../engines/embedded/files/model-folder.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { outcomeReward } from "../../graders/reward.ts";
import { engineModel } from "../../models/engine-model.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { withFaults } from "../../tools/with-faults.ts";
import { chainRollout } from "../../train/chain-rollout.ts";
import { fromFirstFault, sharedPrefix } from "../../train/credit.ts";
import { type ExampleSource, fixedExamples } from "../../train/example-source.ts";
import { guard } from "../../train/extra-loss.ts";
import { fallingRate, rlPresets } from "../../train/presets.ts";
import { saveTrained } from "../../train/save-trained.ts";
import { trainRl } from "../../train/train-rl.ts";
import { createWorld } from "../create-world.ts";
import { trainingWorld } from "../lab-runs.ts";
import { disturbances } from "../memory-lab-tools.ts";
import { labProfile } from "../profile.ts";
import { type LabTools, realLabTools } from "../real-lab-tools.ts";
import { type Family, families, worldTasks } from "../world-tasks.ts";
import { exampleChain, labChains, modelFolder, openLabModel } from "./open-model.ts";
import { maxContext } from "./sft-stage.ts";
import type { QuickstartContext, Stage } from "./stage.ts";

/** RL's worlds begin here: none of them was used for SFT. */
const firstWorld = 1000;

export const rlStage: Stage = {
  name: "rl",
  what: "the model practises with live tools of which half of the searches fail, which no demonstration showed; what worked is reinforced (DAPO)",
  async run(context, folder) {
    const { settings, seed, signal, onProgress } = context;
    const lab = await openLabModel(modelFolder(context.folder, "sft"), { optimizer: "adamw" });
    const worlds = liveWorlds(context);
    const faults = context.imperfect === 0;
    const preset = rlPresets[faults ? "faults" : "verifiable"];
    const plan = disturbances[settings.failing](seed, 0.5);
    try {
      const { engine, tokenizer } = lab;
      const result = await trainRl({
        engine,
        tokenizer,
        folder: join(folder, "run"),
        resume: "auto",
        seed,
        steps: settings.rl.steps,
        collect: { groups: settings.rl.groups, samples: settings.rl.samples, maxRounds: 2, concurrency: 128 },
        updates: { passes: preset.passes, perPass: preset.updates },
        credit: { baseline: preset.baseline, ...(faults && { ...fromFirstFault(), ...sharedPrefix() }) },
        extraLosses: faults ? [guard(await demonstrations(context, tokenizer))] : [],
        tasks: worlds.tasks,
        rollout: chainRollout({
          ...labChains,
          model: (policy) => engineModel(policy, tokenizer),
          tools: async (task) => (faults ? withFaults(await worlds.toolsOf(task), plan) : worlds.toolsOf(task)),
        }),
        reward: outcomeReward(taskGrader(), { format: { rule: "strict", profile: labProfile } }),
        optimizer: { learningRate: settings.rl.rate, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
        schedule: { warmupSteps: 2, ...fallingRate, byGroups: faults },
        keep: { models: preset.average, config: { rl: settings.rl } },
        signal,
        onProgress,
      });
      // The mean of the last steps' weights: what was learned without the last step's noise. A quarter of the start keeps
      // what was not practised.
      const from = modelFolder(context.folder, "sft");
      const start = { folder: from, share: "startShare" in preset ? preset.startShare : 0 };
      const weights = (into: string) => averageModels(result.models, into, { start });
      const into = { model: modelFolder(context.folder, "rl") };
      await saveTrained(into, { engine, tokenizer, from, weights, training: { stage: "rl", seed } });
      const { rollouts, firstReward: first, lastReward: last } = result;
      const searches = faults ? plan : undefined;
      return {
        ...{ rollouts, "reward first": first, "reward last": last },
        line: `${rollouts} tries; the share that ended right went from ${(100 * first).toFixed(0)} to ${(100 * last).toFixed(0)} % while it practised`,
        example: `before: ${await exampleChain(from, searches)}\nafter: ${await exampleChain(into.model, searches)}`,
      };
    } finally {
      await lab.engine.close();
      await worlds.close();
    }
  },
};

/** Chains of the team that are repeated in every update. */
async function demonstrations(context: QuickstartContext, tokenizer: Tokenizer): Promise<ExampleSource> {
  const examples: Example[] = [];
  for await (const chain of readJsonl<Trajectory>(join(context.folder, "distill", "trajectories.jsonl"))) {
    const { example } = trajectoryToExample(chain, tokenizer, { maxTokens: maxContext });
    if (example) examples.push(example);
    if (examples.length >= 400) break;
  }
  return fixedExamples(examples, 2048, context.seed);
}

/** New tasks in a world per few steps, each served and searched for real while it is in use. */
function liveWorlds({ seed, settings, imperfect }: QuickstartContext) {
  // Short chains teach the decision as well as long ones, for less.
  const practised: readonly Family[] = imperfect > 0 ? families : ["hop1", "hop1", "hop2", "mixed"];
  const stepsPerWorld = 4;
  const open = new Map<string, Promise<LabTools>>();
  const sandbox = chooseSandbox({ isolation: "run" });
  return {
    tasks(step: number, round: number, count: number): Task[] {
      const world = trainingWorld({ seed, pages: settings.pages }, firstWorld + Math.floor(step / stepsPerWorld));
      for (const [key, tools] of open) {
        if (key === JSON.stringify(world.options)) continue;
        void tools.then(({ close }) => close());
        open.delete(key);
      }
      return worldTasks(world, { count, families: practised, seed: 1 + step * 100 + round });
    },
    async toolsOf({ world }: Task): Promise<readonly Tool[]> {
      const key = JSON.stringify(world);
      const tools = open.get(key) ?? realLabTools(createWorld(world!), sandbox);
      open.set(key, tools);
      return (await tools).tools;
    },
    async close(): Promise<void> {
      for (const tools of open.values()) await (await tools).close();
      await sandbox.close();
    },
  };
}
