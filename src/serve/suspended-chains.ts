/**
 * Chains that wait for a client to run one of its own tools. They are found again by the ids of their calls, or opened
 * from the state that the client sent back. A chain is on disk before its client gets the call, so that it survives
 * `kill -9`; where the caller wants nothing stored it is kept in memory for a while, and no longer than the process.
 */
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "../base/files/disk.ts";
import { writeFileAtomically } from "../base/files/write-file.ts";
import type { ToolDescription } from "../core/profile.ts";
import { readTrajectory, type Trajectory } from "../core/trajectory.ts";
import { openSeal, type Seal } from "./sealed-state.ts";

export interface SuspendedChain {
  /** Whose it is. */
  owner: string;
  trajectory: Trajectory;
  /** The tools that the client runs. */
  clientTools: readonly ToolDescription[];
  /** Under which the model keeps its cache. */
  session: string;
}

/** Keeps them. */
export interface SuspendedChains {
  save(chain: SuspendedChain, where: "disk" | "memory"): Promise<void>;
  /** By the id of its trajectory. */
  find(id: string, owner: string): Promise<SuspendedChain | undefined>;
  delete(id: string, owner: string): Promise<void>;
  seal: Seal;
}

export interface SuspendedChainsOptions {
  /** Without one everything is kept in memory. */
  folder?: string;
  seal?: Seal;
  now?: () => number;
  disk?: Disk;
}

const storedMs = 30 * 24 * 3_600_000;
const rememberedMs = 3_600_000;
const mostRemembered = 1000;

/** Opens the folder and removes what has waited too long. */
export async function openSuspendedChains(options: SuspendedChainsOptions = {}): Promise<SuspendedChains> {
  const { folder, seal = openSeal(), now = Date.now } = options;
  const remembered = new Map<string, { chain: SuspendedChain; until: number }>();
  const fileOf = (id: string) => join(folder!, `${id}.json`);
  if (folder !== undefined) await removeOld(folder, now() - storedMs);
  const chains: SuspendedChains = {
    seal,
    async save(chain, where) {
      const { id } = chain.trajectory;
      if (where === "disk" && folder !== undefined)
        return writeFileAtomically(fileOf(id), JSON.stringify(chain), options.disk);
      for (const [key, { until }] of remembered) {
        if (until >= now() && remembered.size < mostRemembered) break;
        remembered.delete(key);
      }
      remembered.set(id, { chain, until: now() + rememberedMs });
    },
    async find(id, owner) {
      const known = remembered.get(id);
      const found = known && known.until >= now() ? known.chain : await read(id);
      return found?.owner === owner ? found : undefined;
    },
    async delete(id, owner) {
      if (!(await chains.find(id, owner))) return;
      remembered.delete(id);
      if (folder !== undefined) await rm(fileOf(id), { force: true });
    },
  };
  return chains;

  async function read(id: string): Promise<SuspendedChain | undefined> {
    // The id comes from a client: nothing but a name of ours may become a path.
    if (folder === undefined || !/^chain_[0-9a-f]{32}$/.test(id)) return undefined;
    const text = await readFile(fileOf(id), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    return text === undefined ? undefined : readSuspended(JSON.parse(text));
  }
}

/** A suspended chain from JSON. */
export function readSuspended(value: unknown): SuspendedChain {
  const chain = value as SuspendedChain;
  return { ...chain, trajectory: readTrajectory(chain.trajectory) };
}

async function removeOld(folder: string, before: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const file = join(folder, name);
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: before }));
    if (mtimeMs < before) await rm(file, { force: true });
  }
}
