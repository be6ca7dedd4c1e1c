import { readAllJsonl, readJsonl } from "../../base/files/read-jsonl.ts";
import { recordIn } from "../../base/files/record-kind.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import { chainHash } from "../../core/annotation.ts";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { readAnnotations } from "../../dataset/read-annotations.ts";
import { taskIndex } from "../../distill/task-index.ts";
import { judgeGrader } from "../../graders/judges/judge-grader.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { rightnessLine } from "../../report/comparison-table.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { type Recorded, recordedChain, recordedJudgePrompt, recordedTasks } from "../../tasks/recorded-tasks.ts";
import { defineCommand, existingFiles, oneInputFile } from "../command.ts";
import { list, text, toggle } from "../setting.ts";
import { openLedger } from "../spending.ts";

export default defineCommand({
  summary:
    "Write the questions of recorded runs or served chains as tasks, with the answers that are known to be right and how that is known: a file of tasks, feedback, a judge, or an assumption.",
  arguments: "<runs.jsonl>",
  examples: [
    "coa tasks recorded runs.jsonl --tasks answers.jsonl --out tasks.jsonl",
    "coa tasks recorded runs.jsonl --judge-model gpt-4.1-mini",
    "coa tasks recorded runs.jsonl --assume-right",
    "coa tasks recorded chains.jsonl --annotations .coa/annotations.jsonl",
  ],
  options: {
    tasks: list("Tasks with their answers, for the questions they have", { valueName: "file" }),
    annotations: text("What users and reviewers said about chains: .coa/annotations.jsonl", { valueName: "file" }),
    out: text("The file to write", { default: "tasks.jsonl", valueName: "file", group: "output" }),
    "assume-right": toggle("Take the remaining answers as right; they are called assumed wherever they count"),
  }, // biome-ignore format: one flag a line
  reads: ["judge", "spending"],
  hides: ["judge"],
  async run({ values, settings, positionals, out, signal, session }) {
    const file = oneInputFile(positionals, "a file of team runs or chains");
    existingFiles([...values.tasks, ...(values.annotations ? [values.annotations] : [])]);
    const verdicts = values.annotations === undefined ? undefined : await readAnnotations(values.annotations);
    const first = await readJsonl(file).next();
    const runs: Recorded[] =
      recordIn(first.value)?.kind === "chain"
        ? (await readAllJsonl(file, trajectorySchema, { signal })).map((chain) =>
            recordedChain(chain, verdicts?.get(chain.id)?.get(chainHash(chain))),
          )
        : await readAllJsonl(file, teamRunSchema, { signal });
    if (runs.length === 0) throw new UsageError(`no runs in ${file}`);
    const given = (await Promise.all(values.tasks.map((path) => loadTasks(path, { allowMissingGolds: true })))).flat();
    const index = taskIndex(given);
    const ledger = await openLedger(settings.spending, session);
    const { model: name, baseUrl: baseURL } = settings.judge;
    const model =
      name !== undefined || baseURL !== undefined
        ? session.closeAtEnd(openaiCompatible({ baseURL, model: name }))
        : undefined;
    const made = await recordedTasks(runs, {
      find: (run) => index.find(run.taskId, run.question),
      judge: model && judgeGrader({ model: ledger.watch(model), prompt: recordedJudgePrompt }),
      assumeRight: values["assume-right"],
      onProgress: (done) => out.progress({ stage: "tasks", done, total: runs.length }),
      signal,
    });
    const unsolvedFile = values.out.replace(/(?:\.jsonl)?$/, ".unsolved.jsonl");
    const linesOf = (tasks: readonly Task[]) => tasks.map((task) => `${JSON.stringify(task)}\n`).join("");
    await writeFileAtomically(unsolvedFile, linesOf(made.unsolved));
    await writeFileAtomically(values.out, linesOf(made.tasks));
    const { tasks, right, wrong, unknown } = made;
    const how = "give --tasks <file>, --judge-model <name>, or --assume-right";
    return {
      json: { file: values.out, unsolvedFile, tasks: tasks.length, right, wrong, unknown },
      text: [
        `${tasks.length} tasks in ${values.out}. ${rightnessLine(right)}`,
        ...(wrong > 0 ? [`${wrong} runs are known to be wrong and teach nothing`] : []),
        ...(unknown > 0 ? [`of ${unknown} runs it is not known whether they are right: ${how}`] : []),
      ],
      notes: [`next: coa distill run ${file} --tasks ${values.out} --tasks ${unsolvedFile} --out .coa/distilled/mine`],
      code: Object.keys(right).length > 0 ? 0 : 1,
    };
  },
});
