import { openJsonl } from "../../base/files/open-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { System } from "../../core/system.ts";
import type { Task } from "../../core/task.ts";
import { bareSystem } from "../../evaluate/bare-system.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { type AnswerTask, selectTasks } from "../../tasks/select-tasks.ts";
import { defineCommand, oneInputFile } from "../command.ts";
import { table } from "../output.ts";
import { list, text, whole } from "../setting.ts";
import { openGrader } from "./eval-grading.ts";
import { openSystem, systemSections } from "./eval-system.ts";

const examples = [
  "coa tasks select tasks.jsonl --model .coa/sft/model --profile web --exclude sft-tasks.jsonl --out rl-tasks.jsonl",
  "coa tasks select tasks.jsonl --without-tools qwen2.5-72b --samples 32 --out rl-tasks.jsonl",
  "coa tasks select tasks.jsonl --system team --without-tools qwen3 --docs handbook --out good-tasks.jsonl",
];

const fromMemory =
  "Answer the question from memory. Reply with the answer alone: a name, a number or a short phrase. If you do not know, give your best guess.";

export default defineCommand({
  summary:
    "Keep tasks worth having: not answered without tools, solved with them by a team, or by the model sometimes but not always.",
  arguments: "<tasks.jsonl>",
  examples,
  reads: [...systemSections, "eval", "judge", "grader", "tasks"],
  hides: ["temperature", "best-of", "topology", "price", "max-usd"],
  options: {
    system: text("Who tries the tasks with tools: chain, team, or a module (default: chain where a model is named)", { valueName: "name|file" }),
    "without-tools": text("Model that is asked without tools, on the server of --base-url or OPENAI_BASE_URL", { valueName: "name" }),
    exclude: list("Tasks that SFT has used", { valueName: "file" }),
    samples: whole("Tries per task (default: 8; 1 for a team)", { valueName: "n", group: "limits" }),
    concurrency: whole("Tasks at the same time", { default: 16, valueName: "n", group: "limits" }),
    out: text("Where the kept tasks go", { default: "rl-tasks.jsonl", valueName: "file", group: "output" }),
  }, // biome-ignore format: one flag a line
  async run({ values, settings, positionals, out, signal, session }) {
    const file = oneInputFile(positionals, "a file of tasks");
    const { name, baseUrl } = settings.model;
    const blind = values["without-tools"];
    // An address alone may be that of the model that is asked without tools.
    const named = name !== undefined || (baseUrl !== undefined && blind === undefined);
    const system = values.system ?? (named ? "chain" : undefined);
    if (system === undefined && blind === undefined)
      throw new UsageError(
        `no model or team to try the tasks: give --model <folder>, --system team, --without-tools <name>. Example: ${examples[0]}`,
      );
    const graders = await openGrader(settings, session, await loadTasks(file, { signal }), {
      needed: "an answer that is not judged would look like a hard task",
    });
    const { tasks } = graders;
    const used = await Promise.all(values.exclude.map((path) => loadTasks(path, { allowMissingGolds: true })));
    const { maxWithoutTools, minSolved, maxSolved = system === "team" ? 1 : 0.99 } = settings.tasks;
    // As RL samples: with the temperature of its rollouts.
    const sampled = { ...settings, model: { ...settings.model, temperature: 1 } };
    const opened = system && (await openSystem({ system }, sampled, session));
    const memory = blind && session.closeAtEnd(openaiCompatible({ model: blind, baseURL: baseUrl }));
    const kept = session.closeAtEnd(await openJsonl<Task>(values.out));
    let done = 0;
    const decisions = await selectTasks(tasks, {
      grade: graders.grader,
      exclude: new Set(used.flat().map(({ id }) => id)),
      withoutTools: memory
        ? {
            answer: answersOf(bareSystem({ model: memory, instructions: fromMemory, temperature: 1 })),
            samples: values.samples ?? 8,
            maxPassRate: maxWithoutTools,
          }
        : undefined,
      withTools: opened
        ? {
            answer: answersOf(opened),
            samples: values.samples ?? (system === "team" ? 1 : 8),
            minPassRate: minSolved,
            maxPassRate: maxSolved,
          }
        : undefined,
      concurrency: values.concurrency,
      signal,
      onDecision: () => out.progress({ stage: "selecting", done: ++done, total: tasks.length }),
    });
    for (const { task, kept: keep } of decisions) if (keep) await kept.append(task);
    const reasons = Map.groupBy(decisions, ({ reason }) => reason.replace(/\d+ %/, "… %"));
    const counts = Object.fromEntries([...reasons].map(([reason, { length }]) => [reason, length]));
    const rows = [["reason", "tasks"], ...Object.entries(counts).map(([reason, count]) => [reason, String(count)])];
    return { json: { out: values.out, tasks: tasks.length, reasons: counts }, text: table(rows, ["left", "right"]) };
  },
});

function answersOf(system: System): AnswerTask {
  return async (task, sample, signal) => (await system.run(task, { sample, seed: sample, signal })).answer;
}
