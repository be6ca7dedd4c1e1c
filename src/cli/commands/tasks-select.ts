import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { runChain } from "../../chain/run-chain.ts";
import { UsageError } from "../../core/errors.ts";
import { type Task, taskSchema } from "../../core/task.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { bareSystem } from "../../evaluate/bare-system.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { labProfile } from "../../lab/profile.ts";
import { builtInProfiles } from "../../language/profiles.ts";
import { engineModel } from "../../models/engine-model.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { type AnswerTask, selectTasks } from "../../tasks/select-tasks.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { defineCommand, numberOf, oneInputFile } from "../command.ts";
import { openTools, toolFlags } from "../open-tools.ts";
import { table } from "../output.ts";

const examples = [
  "coa tasks select tasks.jsonl --model .coa/sft/model --profile web --exclude sft-tasks.jsonl --out rl-tasks.jsonl",
  "coa tasks select tasks.jsonl --without-tools qwen2.5-72b --samples 32 --out rl-tasks.jsonl",
];

export default defineCommand({
  name: "tasks select",
  summary:
    "Keep the tasks that RL can learn from: not answered without tools, sometimes but not always solved with them.",
  arguments: "<tasks.jsonl>",
  examples,
  options: {
    out: { type: "string", default: "rl-tasks.jsonl", valueName: "file", describe: "Where the kept tasks go" },
    model: { type: "string", valueName: "folder", describe: "The current model: how often does it solve a task?" },
    profile: { type: "string", default: "web", valueName: "name", describe: "web, mhqa, code, multi or lab" },
    "bare-question": { type: "boolean", default: false, describe: "Give the model the question without a system prompt" },
    "without-tools": { type: "string", valueName: "name", describe: "Model on the server at OPENAI_BASE_URL that is asked without tools" },
    exclude: { type: "string", multiple: true, default: [], valueName: "file", describe: "Tasks that SFT has used" },
    samples: { type: "string", default: "8", valueName: "n", describe: "Tries per task" },
    "max-without-tools": { type: "string", default: "0.3", valueName: "share", describe: "Tasks answered more often without tools are dropped" },
    "min-solved": { type: "string", default: "0.01", valueName: "share", describe: "Tasks solved less often are too hard for now" },
    "max-solved": { type: "string", default: "0.99", valueName: "share", describe: "Tasks solved more often have nothing to teach" },
    concurrency: { type: "string", default: "16", valueName: "n", describe: "Tasks at the same time" },
    ...toolFlags,
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out, signal }) {
    const file = oneInputFile({ name: "tasks select", examples }, positionals, "a file of tasks");
    const folder = values.model;
    if (!folder && !values["without-tools"])
      throw new UsageError(
        `say who tries the tasks: --model <folder>, --without-tools <name>, or both. Example: ${examples[0]}`,
      );
    const tasks = await readAllJsonl(file, taskSchema);
    const exclude = new Set<string>();
    for (const used of values.exclude) for (const task of await readAllJsonl(used, taskSchema)) exclude.add(task.id);
    const samples = numberOf(values.samples, "samples", { min: 1, integer: true })!;
    const share = (name: "max-without-tools" | "min-solved" | "max-solved") =>
      numberOf(values[name], name, { min: 0, max: 1 })!;
    const sandbox = chooseSandbox();
    const current = folder ? await openCurrentModel(folder, values, signal) : null;
    const kept = await openJsonl<Task>(values.out);
    let done = 0;
    try {
      const decisions = await selectTasks(tasks, {
        grade: taskGrader({ sandbox }),
        exclude,
        withoutTools: values["without-tools"]
          ? { answer: withoutTools(values["without-tools"]), samples, maxPassRate: share("max-without-tools") }
          : undefined,
        withModel: current
          ? { answer: current.answer, samples, minPassRate: share("min-solved"), maxPassRate: share("max-solved") }
          : undefined,
        concurrency: numberOf(values.concurrency, "concurrency", { min: 1, integer: true }),
        signal,
        onDecision: () => out.progress({ stage: "selecting", done: ++done, total: tasks.length }),
      });
      for (const { task, kept: keep } of decisions) if (keep) await kept.append(task);
      const reasons = Map.groupBy(decisions, ({ reason }) => reason.replace(/\d+ %/, "… %"));
      const counts = Object.fromEntries([...reasons].map(([reason, list]) => [reason, list.length]));
      out.endProgress();
      if (values.json) out.json({ out: values.out, tasks: tasks.length, reasons: counts });
      else
        out.print(
          table(
            [["reason", "tasks"], ...Object.entries(counts).map(([reason, count]) => [reason, String(count)])],
            ["left", "right"],
          ),
        );
      return 0;
    } finally {
      await kept.close();
      await current?.close();
      await sandbox.close();
    }
  },
});

/** What a model on a server knows by itself. */
function withoutTools(name: string): AnswerTask {
  const system = bareSystem({ model: openaiCompatible({ model: name }), temperature: 1 });
  return async (task, sample, signal) => (await system.run(task, { sample, seed: sample, signal })).answer;
}

/** The current model with its tools, as RL will run it. */
async function openCurrentModel(
  folder: string,
  values: Parameters<typeof openTools>[0] & { profile: string; "bare-question": boolean },
  signal: AbortSignal,
): Promise<{ answer: AnswerTask; close(): Promise<void> }> {
  const profile = values.profile === "lab" ? labProfile : builtInProfiles[values.profile];
  if (!profile) throw new UsageError(`there is no profile "${values.profile}"`);
  const opened = await openTools(values, { signal });
  const engine = await openEmbeddedEngine({ folder });
  const model = engineModel(engine, await loadTokenizer(folder));
  return {
    answer: async (task, sample, stop) => {
      const systemPrompt = values["bare-question"] ? false : undefined;
      const sampling = { temperature: 1, seed: sample };
      return (await runChain(task, { model, tools: opened.tools, profile, systemPrompt, sampling, signal: stop }))
        .answer;
    },
    async close() {
      await engine.close();
      await opened.close();
    },
  };
}
