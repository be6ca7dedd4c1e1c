import { openJsonl } from "../../base/files/open-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { checkTask } from "../../tasks/check-tasks.ts";
import { runTeam } from "../../team/run-team.ts";
import { defineCommand, numberOf, oneInputFile } from "../command.ts";
import { openTools } from "../open-tools.ts";
import { openGrader } from "./eval-grading.ts";
import { openPlayers } from "./team-players.ts";

const examples = ["coa tasks check tasks.jsonl --index .coa/index --out good-tasks.jsonl"];

export default defineCommand({
  name: "tasks check",
  summary: "Keep the tasks that the team solves with tools and that a model alone cannot answer.",
  arguments: "<tasks.jsonl>",
  examples,
  options: {
    samples: { type: "string", default: "4", valueName: "n", describe: "Tries without tools" },
    "max-without-tools": { type: "string", default: "0.3", valueName: "share", describe: "Most that may be right" },
    attempts: {
      type: "string",
      default: "1",
      valueName: "n",
      describe: "Tries of the team; one right answer is enough",
    },
    "blind-only": { type: "boolean", default: false, describe: "Do not run the team" },
    out: {
      type: "string",
      default: "checked-tasks.jsonl",
      valueName: "file",
      describe: "Where good tasks are appended",
    },
  },
  reads: ["model", "team", "tools", "judge", "grader"],
  hides: ["temperature", "topology"],
  async run({ values, settings, positionals, out, signal }) {
    const file = oneInputFile(this, positionals, "a file of tasks");
    const graders = await openGrader(settings, await loadTasks(file, { signal }), {
      needed: "an answer that is not judged would look like a hard task",
    });
    const { tasks } = graders;
    if (tasks.length === 0) throw new UsageError(`no tasks in ${file}`);
    const players = openPlayers(settings);
    const team = values["blind-only"] ? null : await openTools(settings.tools, { note: out.note, signal });
    const good = await openJsonl<Task>(values.out);
    const reasons = new Map<string, number>();
    try {
      for (const [index, task] of tasks.entries()) {
        const check = await checkTask(task, {
          grade: graders.grader,
          model: players.roles["default"]!,
          samples: numberOf(values.samples, "samples", { min: 1, integer: true }),
          maxShareWithoutTools: numberOf(values["max-without-tools"], "max-without-tools", { min: 0, max: 1 }),
          attempts: numberOf(values.attempts, "attempts", { min: 1, integer: true }),
          ...(team && {
            solve: (one: Task, attempt: number) =>
              runTeam(one, { roles: players.roles, tools: team.tools, seed: attempt, signal }),
          }),
          signal,
        });
        if (check.keep) await good.append(task);
        const reason = check.reason.replace(/in \d+ %/, "in too many");
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        out.progress({
          stage: "check",
          done: index + 1,
          total: tasks.length,
          figures: { good: reasons.get("good") ?? 0 },
        });
      }
    } finally {
      await graders.close();
      await good.close();
      await team?.close();
      await players.close();
    }
    out.endProgress();
    if (values.json) out.json({ file: values.out, tasks: tasks.length, reasons: Object.fromEntries(reasons) });
    else for (const [reason, count] of reasons) out.print(`${count}: ${reason}`);
    return 0;
  },
});
