/** The scripted team solves tasks in training worlds; every run is kept as a TeamRun, and a resumed stage appends only the runs that are missing. */
import { join } from "node:path";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import type { Task } from "../../core/task.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { labRuns } from "../lab-runs.ts";
import type { Stage } from "./stage.ts";

export const teamStage: Stage = {
  name: "team",
  what: "a team of six scripted agents (no LLM) solves tasks in a made-up web; everything they say and do is recorded",
  async run({ settings, seed, imperfect, onProgress, signal }, folder) {
    const known = new Set<string>();
    for await (const run of readJsonl<TeamRun>(join(folder, "runs.jsonl"))) known.add(run.taskId ?? "");
    const runs = await openJsonl<TeamRun>(join(folder, "runs.jsonl"));
    const tasks = await openJsonl<Task>(join(folder, "tasks.jsonl"));
    let done = 0;
    let right = 0;
    let billed = 0;
    try {
      for (let world = 0; done < settings.teamTasks; world++) {
        const options = { seed, imperfect, signal, tasksPerWorld: settings.tasksPerWorld, pages: settings.pages };
        for await (const { task, run } of labRuns(options, world)) {
          if (done >= settings.teamTasks) break;
          done++;
          if (run.answer === task.answers[0]) right++;
          billed += run.usage.billedTokens;
          if (!known.has(task.id)) {
            // The run last: its presence says that the task is there too.
            await tasks.append(task);
            await runs.append(run);
          }
          if (done % 20 === 0)
            onProgress({
              stage: "team",
              done,
              total: settings.teamTasks,
              figures: { right: `${((100 * right) / done).toFixed(1)} %` },
            });
        }
      }
    } finally {
      await runs.close();
      await tasks.close();
    }
    return { runs: done, right: right / done, "billed tokens per run": billed / done };
  },
};
