/**
 * A process that runs one program and is then gone. It can be started ahead of time: it waits for the program on
 * descriptor 3. However the program behaves there is a result: output is kept in a window, and the process is killed at
 * the wall deadline, on a flood of output, or when it and its descendants together hold too much memory.
 */
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { SandboxLimits, SandboxResult } from "../../core/sandbox.ts";
import { NotStarted, treeMemoryMb } from "./launch.ts";
import { type OutputWindow, outputWindow } from "./limits.ts";

/** A program that writes more than this is stopped: reading it would cost us as much CPU as it costs the program. */
const floodBytes = 64 * 1024 * 1024;
const memoryCheckMs = 50;

export interface Program {
  /** What is sent on descriptor 3. */
  input: string;
  stdin: string;
  limits: SandboxLimits;
  signal?: AbortSignal;
}

/**
 * What the child's Python does first: it takes its limits and the program from descriptor 3, lowers the limits for good
 * (they are hard limits, so nothing that follows can raise them again), closes what it inherited and becomes the program.
 */
export const pythonEntry = `
import os as _o, sys, resource as _r
_o.closerange(4, 65536)
with open(3, "rb") as _f: _l, _c = _f.read().split(b"\\n", 1)
with open("main.py", "wb") as _f: _f.write(_c)
for _n, _v in zip(("CPU", "AS", "NPROC", "FSIZE", "NOFILE", "CORE"), map(int, _l.split())):
    _r.setrlimit(getattr(_r, "RLIMIT_" + _n), (_v, _v + 1 if _n == "CPU" else _v))
def _h(kind, value, trace):
    import traceback
    traceback.print_exception(kind, value, trace and trace.tb_next)
sys.excepthook = _h
sys.argv = ["main.py"]
__file__ = "main.py"
_c = compile(_c, "main.py", "exec", dont_inherit=True)
_g = globals()
for _n in ("_f", "_h", "_l", "_o", "_r", "_v", "sys", "_n"): _g.pop(_n, None)
exec(_g.pop("_c"), _g.pop("_g"))
`;

/** In front of an entry: tells on descriptor 4 that the sandbox is made and the program runs. */
export const tellsStart = "import os\nos.write(4, b'1')\ndel os\n";

/** The line in front of the program: seconds of CPU, bytes of address space, processes, bytes of a file, open files, core. */
export function limitsLine(limits: SandboxLimits, processes: number): string {
  const bytes = Math.round(limits.memoryMb * 1024 * 1024);
  return `${Math.max(1, Math.ceil(limits.cpuMs / 1000))} ${bytes} ${processes} ${bytes} 256 0\n`;
}

/**
 * Starts the process. With `prepare` it tells on descriptor 4, as bubblewrap does with `--json-status-fd`, which process is
 * the first inside, which is waited for, and at the end the program's exit code: without one the program never ran.
 */
export async function startOneShot(options: {
  command: string;
  args: string[];
  /** User and group to start as; only root may say so. */
  user?: number;
  prepare?: (innerPid: number) => void;
  /** The program says on descriptor 4 that it runs (`tellsStart` in front of its entry): without it, it never did. */
  tells?: boolean;
  /** Written to descriptor 5 at once. */
  filter?: Uint8Array;
}) {
  const { prepare, tells, user, filter } = options;
  const child = spawn(options.command, options.args, {
    env: {},
    cwd: "/",
    stdio: ["pipe", "pipe", "pipe", "pipe", prepare || tells ? "pipe" : "ignore", filter ? "pipe" : "ignore"],
    ...(user === undefined ? {} : { uid: user, gid: user }),
  });
  const streams = child.stdio as unknown as (Socket | null)[];
  for (const part of [child, ...streams]) part?.unref?.();
  for (const stream of streams) stream?.on("error", () => {});
  if (filter) streams[5]?.end(filter);
  let ended: { exitCode: number } | undefined;
  let failure: Error | undefined;
  let inner = 0;
  let killed = false;
  // The inner process first: the outer one then ends by itself and reaps it. An outer one killed at the wrong moment of
  // its start would leave an inner one that waits for it for ever.
  const kill = (): void => {
    if (ended !== undefined) return;
    killed = true;
    try {
      if (inner === 0) child.kill("SIGKILL");
      else process.kill(inner, "SIGKILL");
    } catch {} // it was faster
    const last = setTimeout(() => child.kill("SIGKILL"), 1_000);
    void exited.then(() => clearTimeout(last));
  };
  const exited = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      failure = error;
      ended = { exitCode: 127 };
      resolve();
    });
    child.once("close", (status, name) => {
      ended ??= { exitCode: status ?? (name === "SIGKILL" ? 137 : 128) };
      resolve();
    });
  });
  const early: [Readable, Buffer][] = [];
  const keepEarly = (stream: Readable) => (chunk: Buffer) => void early.push([stream, chunk]);
  const [stdout, stderr] = [child.stdout as Readable, child.stderr as Readable];
  const listeners = new Map([stdout, stderr].map((stream) => [stream, keepEarly(stream)]));
  for (const [stream, listener] of listeners) stream.on("data", listener);
  let status = "";
  if (tells) streams[4]?.on("data", (chunk: Buffer) => (status += chunk));
  if (prepare) {
    const awake = setTimeout(() => child.kill("SIGKILL"), 30_000);
    const told = new Promise<void>((resolve) => {
      streams[4]?.on("data", (chunk: Buffer) => {
        status += chunk;
        // Only a number that something follows is whole. Zero would put ourselves into the program's control group.
        inner ||= Number(/"child-pid":\s*(\d+)\D/.exec(status)?.[1] ?? 0);
        if (inner > 0) resolve();
      });
    });
    await Promise.race([told, exited]);
    clearTimeout(awake);
    try {
      if (inner > 0) prepare(inner);
    } catch (error) {
      failure = error as Error; // it was gone already
    }
    if (inner === 0 || failure) {
      kill();
      await exited;
      const said = Buffer.concat(early.map(([, chunk]) => chunk)).toString();
      throw new NotStarted(options.command, said || (failure?.message ?? ""));
    }
  }

  async function run({ input, stdin, limits, signal }: Program): Promise<SandboxResult> {
    signal?.throwIfAborted();
    const started = performance.now();
    let stopped: "timeout" | "memory" | "flood" | undefined;
    let bytes = 0;
    const stop = (why: typeof stopped): void => {
      stopped ??= why;
      kill();
    };
    const windows = new Map<Readable, OutputWindow>();
    for (const stream of [stdout, stderr]) {
      const window = outputWindow(limits.outputCharacters);
      windows.set(stream, window);
      stream.off("data", listeners.get(stream)!);
      stream.on("data", (chunk: Buffer) => {
        if ((bytes += chunk.length) > floodBytes) stop("flood");
        else window.write(chunk);
      });
    }
    for (const [stream, chunk] of early) windows.get(stream)?.write(chunk);
    const timer = setTimeout(() => stop("timeout"), limits.wallMs);
    const watch = setInterval(() => {
      if (treeMemoryMb(child.pid) > limits.memoryMb * 1.25) stop("memory");
    }, memoryCheckMs);
    const abort = (): void => stop("timeout");
    signal?.addEventListener("abort", abort, { once: true });
    try {
      (streams[3] as Writable).end(input);
      child.stdin!.end(stdin);
      await exited;
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      signal?.removeEventListener("abort", abort);
    }
    if (signal?.aborted) throw signal.reason;
    if (failure) throw new NotStarted(options.command, failure.message);
    const exitCode = ended?.exitCode ?? 1;
    const note = stopped === "flood" ? "\nstopped: too much output\n" : "";
    const texts = [windows.get(stdout)?.text() ?? "", (windows.get(stderr)?.text() ?? "") + note] as const;
    const ran = prepare
      ? killed || exitCode > 128 || status.includes('"exit-code"')
      : !tells || killed || status !== "";
    if (!ran) throw new NotStarted(options.command, texts[1]);
    const verdict = verdictOf(exitCode, stopped, texts[1]);
    return { verdict, exitCode, stdout: texts[0], stderr: texts[1], ms: performance.now() - started };
  }

  return {
    pid: child.pid ?? 0,
    get alive() {
      return ended === undefined && !killed;
    },
    /** Sends the program and waits for its end; to be called once. */
    run,
    kill,
    exited,
  };
}

/** A process that waits for its one program. */
export type OneShot = Awaited<ReturnType<typeof startOneShot>>;

const killedByCpuLimit = 128 + 24; // SIGXCPU, as a shell tells it

function verdictOf(exitCode: number, stopped: string | undefined, stderr: string): SandboxResult["verdict"] {
  if (stopped === "timeout" || stopped === "memory") return stopped;
  if (stopped === "flood") return "failed";
  if (exitCode === 0) return "ok";
  if (exitCode === killedByCpuLimit) return "timeout";
  if (/^MemoryError\b/m.test(stderr.slice(-400))) return "memory";
  return exitCode > 128 ? "crashed" : "failed";
}
