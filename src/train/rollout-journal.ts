/**
 * The rollouts of a run whose groups belong to no step: one binary file per step, with the rollouts that ended in it. A resumed run
 * reads the files of the steps that it may still need, not those of the whole run.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { openPackedRecords, type PackedWriter, readPackedRecords } from "../base/files/packed-records.ts";
import { CoaError } from "../core/errors.ts";
import { readTask } from "../core/task.ts";
import { readTrajectory } from "../core/trajectory.ts";
import type { Rollout } from "./run-rollout.ts";

export interface RolloutJournal {
  append(rollout: Rollout, step: number): Promise<void>;
  close(): Promise<void>;
}

/** The folder of a run in which the journal is. */
const journalFolder = "rollouts";

/** Opens the journal of a run's folder for appending. The file of an earlier step is closed when a later one is written. */
export function openRolloutJournal(folder: string): RolloutJournal {
  const files = new Map<number, Promise<PackedWriter<Rollout>>>();
  return {
    async append(rollout, step) {
      const file = files.get(step) ?? openPackedRecords<Rollout>(join(folder, journalFolder, fileOf(step)));
      if (!files.has(step)) {
        files.set(step, file);
        const old = [...files].filter(([number]) => number < step - 1);
        for (const [number, writer] of old) {
          files.delete(number);
          await (await writer).close();
        }
      }
      await (await file).append(rollout);
    },
    async close() {
      for (const writer of files.values()) await (await writer).close();
    },
  };
}

/** All rollouts that ended in this step or later, in the order of their end. */
export async function* readRollouts(folder: string, fromStep = 0): AsyncGenerator<Rollout> {
  const names = await readdir(join(folder, journalFolder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new CoaError("storage", `can't read the rollouts of ${folder}: ${error.message}`, { cause: error });
  });
  for (const name of names.filter((one) => stepOf(one) >= fromStep).sort()) {
    const file = join(folder, journalFolder, name);
    for (const rollout of await readPackedRecords<Rollout>(file)) {
      try {
        yield { ...rollout, task: readTask(rollout.task), trajectory: readTrajectory(rollout.trajectory) };
      } catch (cause) {
        throw new CoaError("format", `${file} has a record that is not a rollout`, { cause });
      }
    }
  }
}

function fileOf(step: number): string {
  return `step-${String(step).padStart(7, "0")}.bin`;
}

function stepOf(name: string): number {
  return Number(/^step-(\d+)\.bin$/.exec(name)?.[1] ?? Number.NaN);
}
