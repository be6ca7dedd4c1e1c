/**
 * One writer per run. A lock is a file that holds the owner's process id and start time, created exclusively; a lock
 * whose owner is gone is taken over, so a crash never needs a hand to clean up.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { CoaError } from "../../core/errors.ts";

export interface Lock {
  release(): Promise<void>;
}

interface Owner {
  pid: number;
  host: string;
  /** Process ids are reused; together with the start time they are not. */
  startedAt: string;
}

/** Takes the lock or says who holds it. */
export async function acquireLock(path: string): Promise<Lock> {
  await mkdir(dirname(path), { recursive: true });
  const mine: Owner = { pid: process.pid, host: hostname(), startedAt: (await startOf(process.pid)) ?? "" };
  for (let attempt = 0; attempt < 20; attempt++) {
    try {
      await writeFile(path, JSON.stringify(mine), { flag: "wx" });
      return { release: () => rm(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const owner = await readOwner(path);
    if (owner && (await isAlive(owner))) {
      throw new CoaError(
        "storage",
        `${path} is held by process ${owner.pid} on ${owner.host}: another run is writing here. Wait for it, stop it, or use another folder.`,
      );
    }
    await removeStale(path);
  }
  throw new CoaError("storage", `could not take the lock ${path}: too many processes are trying at once`);
}

/** Moves the dead owner's file away under a name of our own first: two rescuers can't both delete a fresh lock. */
async function removeStale(path: string): Promise<void> {
  const aside = `${path}.stale-${process.pid}-${Math.random().toString(36).slice(2)}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  const owner = await readOwner(aside);
  if (owner && (await isAlive(owner))) {
    // Someone took the lock between our look and our rename: give it back.
    await rename(aside, path);
    return;
  }
  await rm(aside, { force: true });
}

async function readOwner(path: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Owner;
  } catch {
    return null;
  }
}

async function isAlive(owner: Owner): Promise<boolean> {
  if (owner.host !== hostname()) return true; // a shared disk: we can't know, so we don't take it over
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  const started = await startOf(owner.pid);
  return started === null || owner.startedAt === "" || started === owner.startedAt;
}

/** Start time of a process in clock ticks since boot, where /proc tells it. */
async function startOf(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
