import { UsageError } from "../../core/errors.ts";
import { readTeamRun, type TeamRun } from "../../core/team-run.ts";
import { readTrajectory, type Trajectory } from "../../core/trajectory.ts";
import { readRuns } from "../../evaluate/read-evaluation.ts";
import { runTree } from "../../record/run-summary.ts";
import { defineCommand, missingArgument, numberOf } from "../command.ts";
import { chainSummary, renderTrajectory } from "../render-chain.ts";
import { readNamed } from "./eval-stored.ts";

const examples = [
  "coa eval show chain-rl",
  "coa eval show chain-rl lab-42-hop2-7",
  "coa eval show chain-rl t12 --sample 3",
];

export default defineCommand({
  name: "eval show",
  summary: "Show what a system did for one task of an evaluation: every step, the answer, the grade and why.",
  arguments: "<name> [task]",
  examples,
  options: {
    sample: { type: "string", default: "0", valueName: "n", describe: "Which of several samples" },
    wrong: { type: "boolean", default: false, describe: "Without a task: list only those that were not right" },
  },
  async run({ values, positionals, out }) {
    const [name, taskId] = positionals;
    if (name === undefined) throw missingArgument(this, "an evaluation");
    const { records, tasks, folder } = await readNamed(name);
    if (taskId === undefined) {
      const shown = records.filter((record) => !values.wrong || record.grade.correct !== true);
      if (values.json) out.json(shown);
      else
        for (const { taskId: id, grade, answer } of shown)
          out.print(`${grade.correct ? "right" : "wrong"}  ${id}  ${answer ?? "(no answer)"}`);
      return 0;
    }
    const sample = numberOf(values.sample, "sample", { min: 0, integer: true })!;
    const record = records.find((one) => one.taskId === taskId && one.sample === sample);
    if (!record)
      throw new UsageError(`${name} has no sample ${sample} of a task "${taskId}". Its tasks: coa eval show ${name}`);
    const run = record.run && (await readRuns(folder, new Set([record.run.id]))).get(record.run.id);
    const task = tasks.find(({ id }) => id === taskId);
    if (values.json) {
      out.json({ task, record, run });
      return 0;
    }
    out.print(`question: ${task?.question ?? ""}\nright:    ${task?.answers.join(" or ") ?? ""}\n`);
    if (record.run?.kind === "trajectory" && run) {
      const trajectory: Trajectory = readTrajectory(run);
      renderTrajectory(trajectory, { style: out.style, print: out.print });
      out.print(chainSummary(trajectory));
    } else if (run) out.print(runTree(readTeamRun(run) as TeamRun, out.width));
    out.print(
      `\nanswer:   ${record.answer ?? "(none)"}\ngrade:    ${record.grade.correct ? "right" : "wrong"} (${record.grade.reason})`,
    );
    return 0;
  },
});
