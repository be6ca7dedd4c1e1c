/** What was recorded, as a system under evaluation: the runs that exist are graded and compared, and nothing is run or paid for. */
import { CoaError } from "../core/errors.ts";
import type { System } from "../core/system.ts";
import type { TeamRun } from "../core/team-run.ts";
import { defineSystem } from "./define-system.ts";

/** The recorded runs by their task or question; a task without one is a run that failed. */
export function recordedSystem(
  runs: readonly TeamRun[],
  options: { name?: string; fingerprint?: string } = {},
): System {
  const byTask = new Map<string, TeamRun>();
  const byQuestion = new Map<string, TeamRun>();
  for (const run of runs) {
    if (run.taskId !== undefined && !byTask.has(run.taskId)) byTask.set(run.taskId, run);
    if (!byQuestion.has(run.question)) byQuestion.set(run.question, run);
  }
  const topologies = [...new Set(runs.map(({ topology }) => topology))];
  return defineSystem({
    name: options.name ?? "recorded",
    ...(topologies.length === 1 && { topology: topologies[0] }),
    identity: { kind: "recorded", runs: runs.length, fingerprint: options.fingerprint },
    async run(task) {
      const run = byTask.get(task.id) ?? byQuestion.get(task.question);
      if (!run) throw new CoaError("record", `no run of task ${task.id} was recorded`);
      return run;
    },
  });
}
