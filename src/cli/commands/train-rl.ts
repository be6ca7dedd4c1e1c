import { join } from "node:path";
import { packageVersion } from "../../base/files/package-version.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { runChain } from "../../chain/run-chain.ts";
import { UsageError } from "../../core/errors.ts";
import { seededRandom } from "../../core/random.ts";
import { taskSchema } from "../../core/task.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { outcomeReward } from "../../graders/reward.ts";
import { engineModel } from "../../models/engine-model.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { trainRl } from "../../train/train-rl.ts";
import { defineCommand, numberOf, oneInputFile } from "../command.ts";
import { findModel } from "../find-model.ts";
import { choiceOf } from "../flag-values.ts";
import { openWork, workFlags } from "../open-chain.ts";
import { openFolder } from "../open-model.ts";
import { readTrainFlags, trainFlags } from "./train-flags.ts";

const examples = [
  "coa train rl tasks.jsonl --model .coa/sft/model --profile web --search index --index .coa/wiki --out .coa/rl",
];

export default defineCommand({
  name: "train rl",
  summary: "Let a model practise on tasks with live tools and reinforce what worked (DAPO).",
  arguments: "<tasks.jsonl>",
  examples,
  options: {
    model: {
      type: "string",
      valueName: "folder",
      describe: "Model to start from, usually one trained by: coa train sft",
    },
    "bare-question": {
      type: "boolean",
      default: false,
      describe: "Give the model the question without a system prompt",
    },
    steps: { type: "string", default: "60", valueName: "n", describe: "Steps of rollouts and updates" },
    groups: {
      type: "string",
      default: "64",
      valueName: "n",
      describe: "Groups (tasks) per step that must have something to teach",
    },
    samples: { type: "string", default: "8", valueName: "n", describe: "Rollouts per task" },
    "clip-low": { type: "string", default: "0.2", valueName: "x", describe: "Lower clip of the ratio" },
    "clip-high": { type: "string", default: "0.28", valueName: "x", describe: "Upper clip of the ratio" },
    "dual-clip": { type: "string", default: "10", valueName: "c", describe: "Bound on the loss of bad rollouts" },
    updates: { type: "string", default: "2", valueName: "n", describe: "Updates per pass over a step's rollouts" },
    passes: { type: "string", default: "1", valueName: "n", describe: "Passes over a step's rollouts" },
    baseline: {
      type: "string",
      default: "group",
      valueName: "name",
      describe: "group (DAPO) or least-variance: learns faster when failed rollouts are long and unlikely",
    },
    "format-factor": { type: "boolean", default: false, describe: "Reward 0 where a chain breaks the profile's rules" },
    "overlong-tokens": { type: "string", valueName: "n", describe: "Punish answers that come near this many tokens" },
    "max-tokens": { type: "string", default: "1024", valueName: "n", describe: "Tokens a rollout may write" },
    concurrency: { type: "string", default: "64", valueName: "n", describe: "Rollouts at the same time" },
    ...workFlags,
    ...trainFlags,
  },
  async run({ values, positionals, out, signal }) {
    const file = oneInputFile({ name: "train rl", examples }, positionals, "a file of tasks");
    if (!values.model)
      throw new UsageError(`coa train rl needs a model to start from: --model <folder>. Example: ${examples[0]}`);
    const tasks = await readAllJsonl(file, taskSchema);
    if (tasks.length === 0) throw new UsageError(`${file} has no tasks`);
    const baseline = choiceOf(values.baseline, "baseline", ["group", "least-variance"]);
    const whole = (name: "steps" | "groups" | "samples" | "updates" | "passes" | "concurrency" | "max-tokens") =>
      numberOf(values[name], name, { min: 1, integer: true })!;
    const flags = readTrainFlags(values as never, { rate: 1e-6, checkpointEvery: 5, decay: "constant" });
    const overlongTokens = numberOf(values["overlong-tokens"], "overlong-tokens", { min: 8, integer: true });
    const start = findModel({ model: values.model }, { lab: false });
    if (start.kind !== "folder") throw new UsageError(`${values.model} is not a model folder: RL trains weights here`);
    const opened = await openWork(values, { note: out.note, signal, ownModel: true });
    const { profile } = opened;
    const sandbox = chooseSandbox();
    const { engine, tokenizer } = await openFolder(start.folder, flags.engine);
    try {
      const result = await trainRl({
        ...flags,
        engine,
        tokenizer,
        folder: values.out,
        resume: values.resume,
        steps: whole("steps"),
        groups: whole("groups"),
        samples: whole("samples"),
        updatesPerEpoch: whole("updates"),
        epochs: whole("passes"),
        baseline,
        concurrency: whole("concurrency"),
        loss: {
          name: "ppo",
          clipLow: numberOf(values["clip-low"], "clip-low", { min: 0 })!,
          clipHigh: numberOf(values["clip-high"], "clip-high", { min: 0 })!,
          dualClip: numberOf(values["dual-clip"], "dual-clip", { min: 1 }),
        },
        tasks: (step, round, count) => {
          const random = seededRandom(flags.seed, "tasks", step, round);
          return Array.from({ length: count }, () => random.pick(tasks));
        },
        rollout: (task, how) =>
          runChain(task, {
            model: engineModel(how.policy, tokenizer),
            tools: opened.toolsOf(task),
            profile,
            systemPrompt: values["bare-question"] ? false : undefined,
            limits: { maxCompletionTokens: whole("max-tokens") },
            sampling: { temperature: 1, seed: how.seed },
            signal: how.signal,
          }),
        reward: outcomeReward(taskGrader({ sandbox }), {
          format: values["format-factor"] ? profile : undefined,
          overlongTokens,
        }),
        dataFingerprint: `${tasks.length} tasks of ${file}`,
        config: { model: start.folder, profile: profile.name },
        codeVersion: packageVersion(),
        signal,
        onProgress: out.progress,
      });
      const folder = join(values.out, "model");
      await engine.saveModel(folder);
      await tokenizer.save(folder);
      out.endProgress();
      if (values.json) out.json({ ...result, model: folder });
      else
        out.print(
          `${result.rollouts} rollouts, reward ${result.firstReward.toFixed(3)} -> ${result.lastReward.toFixed(3)}. The model: ${folder}`,
        );
      return 0;
    } finally {
      await engine.close();
      await opened.close();
      await sandbox.close();
    }
  },
});
