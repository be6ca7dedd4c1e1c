/**
 * One writer per folder or file. A lock is a file with its owner's identity, put in place whole (a hard link), so that no
 * process sees a lock without an owner. The lock of an owner that is gone is removed under a guard named after exactly that lock:
 * of all who find it, one may remove it, and none can remove the next one by mistake. An owner on this machine is gone
 * when its process is; an owner elsewhere (another host, another container) when its lock was not renewed for a while.
 */

import { randomUUID } from "node:crypto";
import { readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { z } from "zod";
import { CoaError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import { sleep } from "../work/limiter.ts";
import { type Disk, nodeDisk, writeAll } from "./disk.ts";
import { makeFolder } from "./make-folder.ts";

export interface Lock {
  release(): Promise<void>;
}

const ownerSchema = z.object({
  pid: z.number(),
  host: z.string(),
  /** Process ids are reused; together with the start time they are not. */
  startedAt: z.string(),
  /** Start of the machine and its space of process ids: the same only where `pid` means the same. */
  boot: z.string().optional(),
  space: z.string().optional(),
  /** Makes each taking of the lock unlike every other. */
  id: z.string().optional(),
});
type Owner = z.infer<typeof ownerSchema>;

const renewMs = 10_000;
const usualLeaseMs = 120_000;
const attempts = 200;

/** Takes the lock or says who holds it. An owner elsewhere whose lock was not renewed for `leaseMs` is gone. */
export async function acquireLock(path: string, options: { leaseMs?: number; disk?: Disk } = {}): Promise<Lock> {
  const { disk = nodeDisk, leaseMs = usualLeaseMs } = options;
  await makeFolder(dirname(path), disk);
  const mine = await thisOwner();
  for (let attempt = 0; attempt < attempts; attempt++) {
    const taken = await place(disk, path, mine);
    if (taken) return taken;
    const held = await readLock(disk, path);
    if (!held) continue; // released meanwhile
    if (await isAlive(held.owner, () => isRenewed(disk, path, leaseMs))) {
      const who = held.owner ? `process ${held.owner.pid} on ${held.owner.host}` : "an unknown process";
      // From here an owner in another container is known to be gone only by its silence.
      const { host, space } = held.owner ?? mine;
      const isElsewhere = host !== mine.host || (space !== undefined && space !== mine.space);
      const killed = ` If it was killed, its lock ends by itself ${leaseMs / 1000} s after its last sign of life: try again then.`;
      throw new CoaError(
        "storage",
        `${path} is held by ${who}: another run is writing here. Wait for it, stop it, or use another folder.${isElsewhere ? killed : ""}`,
        { retryable: true },
      );
    }
    await removeStale(disk, path, held.text, mine, leaseMs);
  }
  throw new CoaError("storage", `could not take the lock ${path}: too many processes are trying at once`, {
    retryable: true,
  });
}

/** Whether a living process holds the lock. A look writes nothing: an owner elsewhere is judged by this machine's clock. */
export async function isLocked(path: string): Promise<boolean> {
  const held = await readLock(nodeDisk, path);
  if (!held) return false;
  return isAlive(held.owner, async () => {
    const { mtimeMs } = await nodeDisk.stat(path).catch(() => ({ mtimeMs: 0 }));
    return Math.abs(Date.now() - mtimeMs) < usualLeaseMs;
  });
}

/** Puts a lock in place, whole; undefined when one is there. */
async function place(disk: Disk, path: string, mine: Owner): Promise<Lock | undefined> {
  const text = JSON.stringify({ ...mine, id: randomUUID() });
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = await disk.open(temporary, "wx+");
  try {
    await writeAll(file, Buffer.from(text), 0);
    await disk.link(temporary, path);
  } catch (error) {
    await file.close();
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  } finally {
    await disk.rm(temporary, { force: true });
  }
  // The handle is of our own file, so renewing can never touch a lock that another process has taken since.
  const renew = setInterval(() => void writeAll(file, Buffer.from(text), 0).catch(() => {}), renewMs);
  renew.unref();
  return {
    async release() {
      clearInterval(renew);
      await file.close().catch(() => {});
      if ((await readLock(disk, path))?.text === text) await disk.rm(path, { force: true });
    },
  };
}

/** Removes exactly the lock with this text, if it is still there: only the holder of its guard may do this. */
async function removeStale(disk: Disk, path: string, text: string, mine: Owner, leaseMs: number): Promise<void> {
  const guardPath = `${path}.${fingerprint(text)}.guard`;
  const guard = await place(disk, guardPath, mine);
  if (guard) {
    try {
      if ((await readLock(disk, path))?.text === text) await disk.rm(path, { force: true });
    } finally {
      await guard.release();
    }
    return;
  }
  const held = await readLock(disk, guardPath);
  if (!held) return;
  if (await isAlive(held.owner, () => isRenewed(disk, guardPath, leaseMs))) await sleep(1 + Math.random() * 4);
  else await removeStale(disk, guardPath, held.text, mine, leaseMs); // its holder died in the middle
}

async function readLock(disk: Disk, path: string): Promise<{ text: string; owner: Owner | undefined } | undefined> {
  let text: string;
  try {
    text = await disk.readFile(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  try {
    return { text, owner: ownerSchema.parse(JSON.parse(text)) };
  } catch {
    return { text, owner: undefined };
  }
}

/** Whether an owner lives; of one elsewhere that is known only by its lock having been `renewed`. */
async function isAlive(owner: Owner | undefined, renewed: () => Promise<boolean>): Promise<boolean> {
  if (!owner) return false; // no lock of ours is ever without an owner: it was written by hand
  if (owner.host !== hostname()) return renewed();
  if (owner.boot !== undefined && owner.boot !== (await bootId())) return false; // the machine was restarted
  if (owner.space !== undefined && owner.space !== (await processSpace())) return renewed();
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  const started = await startOf(owner.pid);
  return started === "" || owner.startedAt === "" || started === owner.startedAt;
}

/** Whether a lock was renewed lately, by the clock of the disk it is on: clocks of two machines differ, and jump. */
async function isRenewed(disk: Disk, path: string, leaseMs: number): Promise<boolean> {
  const probe = `${path}.${randomUUID()}.tmp`;
  const file = await disk.open(probe, "wx");
  try {
    const { mtimeMs: now } = await file.stat();
    const { mtimeMs: renewed } = await disk.stat(path);
    return Math.abs(now - renewed) < leaseMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  } finally {
    await file.close();
    await disk.rm(probe, { force: true });
  }
}

async function thisOwner(): Promise<Owner> {
  return {
    pid: process.pid,
    host: hostname(),
    startedAt: await startOf(process.pid),
    boot: await bootId(),
    space: await processSpace(),
  };
}

const orNothing = (reading: Promise<string>): Promise<string> => reading.then((text) => text.trim()).catch(() => "");
const bootId = () => orNothing(nodeDisk.readFile("/proc/sys/kernel/random/boot_id", "utf8"));
const processSpace = () => orNothing(readlink("/proc/self/ns/pid"));

/** Start time of a process in clock ticks since boot, where /proc tells it. */
async function startOf(pid: number): Promise<string> {
  const stat = await orNothing(nodeDisk.readFile(`/proc/${pid}/stat`, "utf8"));
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
