/**
 * How a sandbox child is launched so that it is as weak as the system allows: never as root, no new privileges, no core
 * file, a cap on its data segment, and it ends when we end. Uses util-linux where it is there, and says when not.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CoaError } from "../../core/errors.ts";

/** The user and group that sandboxed processes run as when we are root: `nobody`. */
export const nobodyId = 65_534;

/** Absolute path of a system program, or undefined. Looked up in fixed places: PATH may name anything. */
export function systemProgram(name: string): string | undefined {
  if (process.platform === "win32") return undefined;
  return ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"]
    .map((folder) => `${folder}/${name}`)
    .find((path) => existsSync(path));
}

/** Whether this process is root on a system that has such a thing. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Whether any user may read a file: every folder above it can be passed and the file itself is readable. */
export function readableByAll(path: string): boolean {
  try {
    if ((statSync(path).mode & 0o004) === 0) return false;
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      if ((statSync(folder).mode & 0o001) === 0) return false;
      if (folder === dirname(folder)) return true;
    }
  } catch {
    return false;
  }
}

/** What `weakened` could and could not arrange. */
export interface Launch {
  command: string;
  args: string[];
  /** The child must drop root itself once it has read what only root may read. */
  dropInside: boolean;
  caveats: string[];
}

/** Puts the weakening programs in front of a command. `needs` are files that the child reads after its start. */
export function weakened(command: string, args: string[], options: { dataMb: number; needs: string[] }): Launch {
  if (process.platform !== "linux") {
    return {
      command,
      args,
      dropInside: isRoot(),
      caveats: ["memory outside WebAssembly is not capped on this system"],
    };
  }
  const caveats: string[] = [];
  const chain: string[] = [];
  let dropInside = isRoot();
  const setpriv = systemProgram("setpriv");
  if (setpriv) {
    chain.push(setpriv, "--no-new-privs", "--pdeathsig", "KILL");
    if (isRoot() && [command, ...options.needs].every(readableByAll)) {
      const user = `--reuid ${nobodyId} --regid ${nobodyId} --clear-groups --inh-caps=-all --bounding-set=-all`;
      chain.push(...user.split(" "));
      dropInside = false;
    }
  } else caveats.push("setpriv is missing: a child stuck in a C loop outlives a killed parent until its own deadline");
  const prlimit = systemProgram("prlimit");
  if (prlimit) {
    const bytes = Math.round(options.dataMb * 1024 * 1024);
    chain.push(prlimit, `--data=${bytes}`, "--core=0", "--fsize=0", "--memlock=0");
  } else caveats.push("prlimit is missing: memory outside WebAssembly is not capped");
  chain.push(command, ...args);
  return { command: chain[0] as string, args: chain.slice(1), dropInside, caveats };
}

const longestWaitMs = 5_000;
const fullMachine = /temporarily unavailable|Cannot allocate memory|\b(EAGAIN|ENOMEM)\b/;

/** What the program was to run in ended before the program began. This says nothing about the program. */
export class NotStarted extends CoaError {
  constructor(command: string, why: string) {
    super("sandbox", `${command} did not start: ${why.trim() || "no reason given"}`);
  }
}

/** Waits and tries again while the machine refuses new processes. No program is to blame for that. */
export async function whenThereIsRoom<T>(start: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let waitMs = 50; ; waitMs *= 2) {
    try {
      return await start();
    } catch (error) {
      const full = error instanceof NotStarted && fullMachine.test(error.message);
      if (!full || waitMs > longestWaitMs) throw error;
      await sleep(waitMs, undefined, { signal });
    }
  }
}

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
