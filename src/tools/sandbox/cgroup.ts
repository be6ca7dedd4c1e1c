/**
 * Limits on a whole family of processes: total memory and number of processes, by control groups v1 or v2, wherever this
 * process may create them. Groups are made once and reused, because making one costs as much as starting a process.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface GroupLimits {
  memoryMb: number;
  processes: number;
}

const prefix = "coa-sandbox-";

/** Finds a place where groups can be made, or undefined. */
export function controlGroups(root = "/sys/fs/cgroup") {
  if (process.platform !== "linux") return undefined;
  const folders = placesIn(root);
  if (!folders) return undefined;
  const version = existsSync(join(folders[0] as string, "cgroup.controllers")) ? 2 : 1;
  try {
    for (const folder of folders) sweep(folder);
    const probe = make(folders, version);
    probe.limit({ memoryMb: 64, processes: 4 });
    probe.remove();
  } catch {
    return undefined;
  }
  const idle: ControlGroup[] = [];
  const all: ControlGroup[] = [];
  return {
    version,
    /** A free group with these limits; give it back with `free`. */
    take(limits: GroupLimits) {
      const at = idle.findLastIndex((one) => one.isEmpty());
      let [group] = at < 0 ? [] : idle.splice(at, 1);
      if (!group) {
        group = make(folders, version);
        all.push(group);
      }
      group.limit(limits);
      return group;
    },
    free: (group: ControlGroup) => void idle.push(group),
    close() {
      for (const group of all.splice(0)) group.remove();
      idle.length = 0;
    },
  };
}

/** Where groups can be made. */
export type ControlGroups = NonNullable<ReturnType<typeof controlGroups>>;

function placesIn(root: string): string[] | undefined {
  const [memory, pids] = [join(root, "memory"), join(root, "pids")];
  if (existsSync(join(memory, "memory.limit_in_bytes"))) return existsSync(pids) ? [memory, pids] : undefined;
  try {
    const enabled = readFileSync(join(root, "cgroup.subtree_control"), "utf8").split(/\s+/);
    return enabled.includes("memory") && enabled.includes("pids") ? [root] : undefined;
  } catch {
    return undefined;
  }
}

let made = 0;

/** A name of this process that no group has, not even one that an earlier process of the same number left behind. */
function freshName(parents: string[]): string {
  const name = `${prefix}${process.pid}-${made++}`;
  return parents.some((parent) => existsSync(join(parent, name))) ? freshName(parents) : name;
}

function make(parents: string[], version: 1 | 2) {
  const name = freshName(parents);
  const folders = parents.map((parent) => join(parent, name));
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  const memory = folders[0] as string;
  let limited = "";
  return {
    /** Whether the last of its processes is gone; until then it has less room than its limits say. */
    isEmpty: () => folders.every((folder) => readFileSync(join(folder, "cgroup.procs"), "utf8") === ""),
    limit(limits: GroupLimits) {
      const wanted = `${limits.memoryMb} ${limits.processes}`;
      if (limited !== wanted) setLimits(folders, version, limits);
      limited = wanted;
    },
    /** Moves a process, and with it all that it will start, into the group. */
    join(pid: number) {
      for (const folder of folders) writeFileSync(join(folder, "cgroup.procs"), `${pid}`);
    },
    /** How often the kernel has killed for lack of memory since the group was made. */
    memoryKills() {
      try {
        const text = readFileSync(join(memory, version === 1 ? "memory.oom_control" : "memory.events"), "utf8");
        return Number(/^oom_kill (\d+)/m.exec(text)?.[1] ?? 0);
      } catch {
        return 0;
      }
    },
    remove() {
      for (const folder of folders) {
        try {
          rmdirSync(folder);
        } catch {} // still busy: the sweep of a later start takes it
      }
    },
  };
}

/** One group that can hold one run at a time. */
export type ControlGroup = ReturnType<typeof make>;

function setLimits(folders: string[], version: 1 | 2, limits: GroupLimits): void {
  const [memory, pids = memory] = folders as [string, string?];
  const bytes = `${Math.round(limits.memoryMb * 1024 * 1024)}`;
  writeFileSync(join(memory, version === 1 ? "memory.limit_in_bytes" : "memory.max"), bytes);
  if (version === 2 && existsSync(join(memory, "memory.swap.max"))) writeFileSync(join(memory, "memory.swap.max"), "0");
  writeFileSync(join(pids, "pids.max"), `${limits.processes}`);
}

// Groups of processes that were killed before they could tidy up.
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = name.startsWith(prefix) ? Number(name.slice(prefix.length).split("-")[0]) : 0;
    if (owner === 0 || existsSync(`/proc/${owner}`)) continue;
    try {
      rmdirSync(join(folder, name));
    } catch {}
  }
}
