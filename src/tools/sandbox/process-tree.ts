/** What a process and everything that descends from it are using, read from `/proc`. */
import { readdirSync, readFileSync } from "node:fs";

/** The process and its descendants, as far as the system tells (Linux). */
export function processTree(pid: number): number[] {
  const found = [pid];
  for (let at = 0; at < found.length && at < 1_000; at++) {
    try {
      for (const task of readdirSync(`/proc/${found[at]}/task`)) {
        const children = readFileSync(`/proc/${found[at]}/task/${task}/children`, "latin1").trim();
        if (children !== "") found.push(...children.split(" ").map(Number));
      }
    } catch {} // it has just ended
  }
  return found;
}

/** Memory that belongs to a process and its descendants alone, in MB; 0 where the system does not tell. */
export function treeMemoryMb(pid: number | undefined): number {
  if (process.platform !== "linux" || pid === undefined) return 0;
  let pages = 0;
  for (const member of processTree(pid)) {
    try {
      const [, resident = 0, shared = 0] = readFileSync(`/proc/${member}/statm`, "latin1").split(" ").map(Number);
      pages += resident - shared;
    } catch {}
  }
  return (pages * 4096) / (1024 * 1024);
}

/** CPU time a process has used, in ms, where the system tells (Linux). */
export function cpuMsOf(pid: number | undefined): number | undefined {
  if (process.platform !== "linux" || pid === undefined) return undefined;
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10; // clock ticks of 10 ms
  } catch {
    return undefined;
  }
}
