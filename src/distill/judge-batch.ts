/** What the threads of a distillation do: a batch of lines judged, its outcomes ready to be sent and written. */
import type { Task } from "../core/task.ts";
import { loadTasks } from "../tasks/benchmarks/load-tasks.ts";
import type { RecordOutcome } from "./judge-record.ts";

/** An outcome on its way between threads: the trajectory as the line it will be written as. */
export type WireOutcome = Omit<RecordOutcome, "trajectory"> & { line?: string };

export async function readTasks(files: readonly string[]): Promise<Task[]> {
  const lists = await Promise.all(files.map((file) => loadTasks(file, { allowMissingGolds: true })));
  return lists.flat();
}

/** Judges a batch and makes its outcomes ready to be sent to the other thread. */
export async function judgeBatch(
  judge: (line: string) => Promise<RecordOutcome>,
  lines: readonly string[],
): Promise<WireOutcome[]> {
  // All at once: graders and checks that ask a model wait together, and the rest never waits.
  return Promise.all(
    lines.map(async (line): Promise<WireOutcome> => {
      const { trajectory, ...outcome } = await judge(line);
      return trajectory ? { ...outcome, line: JSON.stringify(trajectory) } : outcome;
    }),
  );
}
