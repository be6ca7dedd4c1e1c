/**
 * Test-time scaling: a system that runs another several times and gives the answer that was chosen. What it costs is all
 * candidates and the choice together.
 */
import { isAbort, messageOf } from "../core/errors.ts";
import type { Grader } from "../core/grader.ts";
import type { System, SystemResult } from "../core/system.ts";
import type { Task } from "../core/task.ts";
import { addUsage, emptyUsage } from "../core/usage.ts";
import { byMajority, type Choose } from "./choose.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";

/** Runs a system so many times on each task, in parallel and with different seeds, and chooses one of the results. */
export function bestOf(system: System, samples: number, choose: Choose = byMajority()): System {
  return {
    name: `${system.name}, best of ${samples}`,
    ...(system.topology !== undefined && { topology: system.topology }),
    identity: { kind: "best-of", n: samples, of: system.identity ?? system.name },
    async run(task, { sample, seed, signal }) {
      const candidates = await Promise.all(
        Array.from({ length: samples }, (_, index) =>
          runCandidate(system, task, { sample: sample * samples + index, seed: seed + index, signal }),
        ),
      );
      const { index, reason, usage } = await choose(task, candidates, { signal });
      const chosen = candidates[index ?? 0]!;
      return {
        ...chosen,
        usage: candidates.reduce((sum, candidate) => addUsage(sum, candidate.usage), usage),
        toolCalls: candidates.map(({ toolCalls }) => toolCalls).reduce(addTables, {}),
        tokensByRole: candidates.map(({ tokensByRole }) => tokensByRole).reduce(addTables, chooser(usage.billedTokens)),
        chosen: { index, reason, candidates },
      };
    },
  };
}

/** A candidate that crashes is one without an answer; the others may still have one. */
async function runCandidate(system: System, task: Task, options: Parameters<System["run"]>[1]): Promise<SystemResult> {
  try {
    return await system.run(task, options);
  } catch (error) {
    if (options.signal?.aborted || isAbort(error)) throw error;
    const ending = { reason: "error" as const, detail: messageOf(error) };
    return { answer: null, ending, usage: emptyUsage(), toolCalls: {}, tokensByRole: {} };
  }
}

function chooser(tokens: number): Record<string, number> {
  return tokens === 0 ? {} : { judge: tokens };
}

function addTables(sum: Record<string, number>, table: Record<string, number>): Record<string, number> {
  const added = { ...sum };
  for (const [name, value] of Object.entries(table)) added[name] = (added[name] ?? 0) + value;
  return added;
}

/** Success over all tasks when each gives the answer that most of its samples agree on. */
export async function majoritySuccess(
  tasks: readonly Task[],
  records: readonly EvaluationRecord[],
  grader: Grader,
): Promise<number> {
  const byTask = Map.groupBy(records, (record) => record.taskId);
  let right = 0;
  for (const task of tasks) {
    const samples = (byTask.get(task.id) ?? []).toSorted((a, b) => a.sample - b.sample);
    const { index } = await byMajority(grader)(task, samples.map(({ answer }) => ({ answer })), {}); // biome-ignore format: one choice
    if (index !== null && samples[index]!.grade.correct === true) right++;
  }
  return right / Math.max(1, tasks.length);
}
