/**
 * The system's own python3 in Linux namespaces, by bubblewrap. Never as root: bubblewrap started by root leaves
 * `/proc/sys` writable inside, so root first becomes `nobody`. Inside there is no network, no other process, nothing
 * writable but three small in-memory folders, no dangerous system calls, and the whole family of processes
 * is bounded in memory and number. Each run is a sandbox of its own, started ahead of time; nothing survives it.
 */

import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { CoaError } from "../../core/errors.ts";
import type { Sandbox, SandboxLevel, SandboxLimits, SandboxRequest, SandboxResult } from "../../core/sandbox.ts";
import { type ControlGroup, type ControlGroups, controlGroups } from "./cgroup.ts";
import { childPool } from "./child-pool.ts";
import { isRoot, nobodyId, systemProgram, whenThereIsRoom } from "./launch.ts";
import { withLimits } from "./limits.ts";
import { limitsLine, type OneShot, pythonEntry, startOneShot } from "./one-shot.ts";
import { systemCallFilter } from "./system-call-filter.ts";

export interface BubblewrapOptions {
  limits?: Partial<SandboxLimits>;
  /** Sandboxes started ahead of time (default 1), each for one run. */
  warm?: number;
  /** Most sandboxes at once (default 8); further runs wait. */
  concurrency?: number;
  /** The interpreter, somewhere under /usr. */
  python?: string;
}

/** Whether bubblewrap works here, and if not, why. */
export function bubblewrapProblem(options: BubblewrapOptions = {}): string | undefined {
  if (process.platform !== "linux") return "bubblewrap needs Linux";
  const program = systemProgram("bwrap");
  if (!program) return "bwrap is not installed (Debian package bubblewrap)";
  const python = options.python ?? "/usr/bin/python3";
  if (!existsSync(python)) return `${python} does not exist (Debian package python3)`;
  const user = isRoot() ? { uid: nobodyId, gid: nobodyId } : {};
  const args = [...walls(), "/usr/bin/true"];
  const { status, stderr } = spawnSync(program, args, {
    env: {},
    cwd: "/",
    ...user,
    encoding: "utf8",
    timeout: 10_000,
  });
  return status === 0 ? undefined : `bwrap does not work here: ${(stderr ?? "").trim() || `exit ${status}`}`;
}

/** Makes the sandbox; throws where bubblewrap does not work. Nothing is started before the first run. */
export function bubblewrapSandbox(options: BubblewrapOptions = {}): Sandbox {
  const problem = bubblewrapProblem(options);
  if (problem) throw new CoaError("sandbox", problem);
  sweepOrphans();
  const groups = controlGroups();
  const standard = withLimits(options.limits);
  const filter = systemCallFilter();
  const inGroup = new Map<OneShot, ControlGroup>();

  async function start(): Promise<OneShot> {
    const group = groups?.take({ memoryMb: standard.memoryMb, processes });
    const child = await startOneShot({
      command: systemProgram("bwrap") as string,
      args: [
        ...walls(),
        ...["--json-status-fd", "4", ...(filter ? ["--seccomp", "5"] : [])],
        ...[options.python ?? "/usr/bin/python3", "-I", "-B", "-c", pythonEntry],
      ],
      user: isRoot() ? nobodyId : undefined,
      filter,
      prepare: (pid) => group?.join(pid),
    }).catch((error) => {
      if (group) groups?.free(group);
      throw error;
    });
    if (group) inGroup.set(child, group);
    void child.exited.then(() => {
      inGroup.delete(child);
      if (group) groups?.free(group);
    });
    return child;
  }

  const pool = childPool({
    start,
    isolation: "trajectory",
    warm: options.warm ?? 1,
    most: Math.max(1, options.concurrency ?? 8),
  });

  // A child that ended by a signal without a word may have been dead before it got the program: the news of a death takes
  // a moment. Nothing outlives a run, so running the program once more does no harm; one that kills itself dies again.
  async function run(request: SandboxRequest): Promise<SandboxResult> {
    const result = await whenThereIsRoom(() => runOnce(request), request.signal);
    const silent = result.verdict === "crashed" && result.stdout === "" && result.stderr === "";
    return silent ? whenThereIsRoom(() => runOnce(request), request.signal) : result;
  }

  async function runOnce(request: SandboxRequest): Promise<SandboxResult> {
    const limits = withLimits(request.limits, options.limits);
    const input = limitsLine(limits, processes) + request.code;
    return pool.use(undefined, async (child) => {
      const group = inGroup.get(child);
      group?.limit({ memoryMb: limits.memoryMb, processes });
      const killsBefore = group?.memoryKills() ?? 0;
      const result = await child.run({ input, stdin: request.stdin ?? "", limits, signal: request.signal });
      const outOfMemory = group !== undefined && group.memoryKills() > killsBefore && result.verdict !== "ok";
      return { result: outOfMemory ? { ...result, verdict: "memory" as const } : result, keep: false };
    });
  }

  return {
    level: bubblewrapLevel(groups),
    languages: ["python"],
    run,
    async close() {
      await pool.close();
      groups?.close();
    },
  };
}

const hostPrefix = "sandbox-";

// bubblewrap that loses its parent in the first millisecond of its start leaves a process that waits for ever, before
// it has run anything. The next sandbox ends those; the host name on the command line says whose they were.
function sweepOrphans(): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
      if (!words[0]?.endsWith("bwrap")) continue;
      const owner = words[words.indexOf("--hostname") + 1]?.slice(hostPrefix.length);
      if (owner && /^\d+$/.test(owner) && !existsSync(`/proc/${owner}`)) process.kill(Number(pid), "SIGKILL");
    } catch {} // gone, or another user's
  }
}

/** Size of each writable folder (work, /tmp; /dev/shm gets a quarter). */
const diskMb = 64;
const processes = 64;

function walls(): string[] {
  const megabyte = 1024 * 1024;
  const system: string[] = ["--ro-bind", "/usr", "/usr"];
  for (const folder of ["/bin", "/sbin", "/lib", "/lib32", "/lib64"]) {
    if (!existsSync(folder)) continue;
    if (lstatSync(folder).isSymbolicLink()) system.push("--symlink", readlinkSync(folder), folder);
    else system.push("--ro-bind", folder, folder);
  }
  const disk = (size: number, folder: string) => ["--size", `${Math.round(size * megabyte)}`, "--tmpfs", folder];
  return [
    ..."--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --cap-drop ALL".split(" "),
    ...["--uid", `${nobodyId}`, "--gid", `${nobodyId}`, "--hostname", `${hostPrefix}${process.pid}`],
    ...system,
    ...["--proc", "/proc", "--dev", "/dev"],
    ...disk(diskMb / 4, "/dev/shm"),
    ...disk(diskMb, "/tmp"),
    ...disk(diskMb, "/work"),
    ...["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"],
    ...["--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/work", "--setenv", "LANG", "C.UTF-8"],
  ];
}

function bubblewrapLevel(groups: ControlGroups | undefined): SandboxLevel {
  const caveats = groups
    ? []
    : [
        "no control group can be made here: total memory of several processes is checked every 50 ms, not by the kernel",
      ];
  caveats.push("the code talks to the machine's own kernel; files under /usr can be read");
  return { kind: "bubblewrap", strength: "strong", caveats };
}
