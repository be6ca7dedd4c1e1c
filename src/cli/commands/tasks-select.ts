import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { runChain } from "../../chain/run-chain.ts";
import { UsageError } from "../../core/errors.ts";
import { type Task, taskSchema } from "../../core/task.ts";
import { bareSystem } from "../../evaluate/bare-system.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { type AnswerTask, selectTasks } from "../../tasks/select-tasks.ts";
import { defineCommand, numberOf, oneInputFile } from "../command.ts";
import { type OpenChain, openChain } from "../open-chain.ts";
import { table } from "../output.ts";
import { openGrader } from "./eval-grading.ts";

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
    "without-tools": { type: "string", valueName: "name", describe: "Model on the server at OPENAI_BASE_URL that is asked without tools" },
    exclude: { type: "string", multiple: true, default: [], valueName: "file", describe: "Tasks that SFT has used" },
    samples: { type: "string", default: "8", valueName: "n", describe: "Tries per task" },
    "max-without-tools": { type: "string", default: "0.3", valueName: "share", describe: "Tasks answered more often without tools are dropped" },
    "min-solved": { type: "string", default: "0.01", valueName: "share", describe: "Tasks solved less often are too hard for now" },
    "max-solved": { type: "string", default: "0.99", valueName: "share", describe: "Tasks solved more often have nothing to teach" },
    concurrency: { type: "string", default: "16", valueName: "n", describe: "Tasks at the same time" },
  }, // biome-ignore format: one flag a line
  reads: ["model", "chain", "tools", "judge", "grader"],
  hides: ["temperature"],
  async run({ values, settings, positionals, out, signal }) {
    const file = oneInputFile(this, positionals, "a file of tasks");
    const byModel = settings.model.name !== undefined || settings.model.baseUrl !== undefined;
    if (!byModel && !values["without-tools"])
      throw new UsageError(
        `say who tries the tasks: --model <folder>, --without-tools <name>, or both. Example: ${examples[0]}`,
      );
    const loaded = await loadTasks(file, { signal });
    const graders = await openGrader(settings, loaded, {
      needed: "an answer that is not judged would look like a hard task",
    });
    const { tasks } = graders;
    const exclude = new Set<string>();
    for (const used of values.exclude) for (const task of await readAllJsonl(used, taskSchema)) exclude.add(task.id);
    const samples = numberOf(values.samples, "samples", { min: 1, integer: true })!;
    const share = (name: "max-without-tools" | "min-solved" | "max-solved") =>
      numberOf(values[name], name, { min: 0, max: 1 })!;
    const current = byModel ? await openChain(settings, { note: out.note, signal }) : null;
    const kept = await openJsonl<Task>(values.out);
    let done = 0;
    try {
      const decisions = await selectTasks(tasks, {
        grade: graders.grader,
        exclude,
        withoutTools: values["without-tools"]
          ? { answer: withoutTools(values["without-tools"]), samples, maxPassRate: share("max-without-tools") }
          : undefined,
        withModel: current
          ? { answer: withTools(current), samples, minPassRate: share("min-solved"), maxPassRate: share("max-solved") }
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
      await graders.close();
    }
  },
});

/** What a model on a server knows by itself. */
function withoutTools(name: string): AnswerTask {
  const system = bareSystem({ model: openaiCompatible({ model: name }), temperature: 1 });
  return async (task, sample, signal) => (await system.run(task, { sample, seed: sample, signal })).answer;
}

/** The current model with its tools, as RL will run it. */
function withTools({ model, profile, defaults, toolsOf }: OpenChain): AnswerTask {
  return async (task, sample, signal) => {
    const sampling = { temperature: 1, seed: sample };
    return (await runChain(task, { model, tools: toolsOf(task), profile, ...defaults, sampling, signal })).answer;
  };
}
