/** A sandbox made of line children: requests in, replies out, and how an outcome becomes a verdict. */
import { randomInt } from "node:crypto";
import { CoaError } from "../../core/errors.ts";
import type { Sandbox, SandboxLevel, SandboxLimits, SandboxRequest, SandboxResult } from "../../core/sandbox.ts";
import { childPool } from "./child-pool.ts";
import { withLimits } from "./limits.ts";
import type { ChildOutcome, LineChild } from "./line-child.ts";

/** One program for the child. */
export interface ChildRequest {
  code: string;
  stdin: string;
  cpuMs: number;
  outputCharacters: number;
  /** Run it only if it is made of syntax that can leave nothing behind; answer `refused` otherwise. */
  plainOnly: boolean;
  seed: number;
}

/**
 * What the child answers. `dirty` means that the child must not be used again; `error` says that the interpreter itself
 * broke.
 */
export interface ChildReply {
  /** Nothing was run: the program is not plain. */
  refused?: boolean;
  status?: number;
  reason?: string;
  interrupted?: boolean;
  stdout?: string;
  stderr?: string;
  dirty?: string;
  error?: string;
}

export interface LineSandboxOptions {
  /**
   * `trajectory`: a child per session key, never shared. `run`: nothing outlives a run; programs of plain syntax share a
   * few warm children, every other program gets a fresh one.
   */
  isolation?: "trajectory" | "run";
  /** Children kept warm (default 1); with `isolation: "run"` the number of shared children (default 2). */
  warm?: number;
  /** Most children at once (default 8); past that the child of the session that was idle longest ends. */
  most?: number;
  limits?: Partial<SandboxLimits>;
}

/** A sandbox that can start its children before they are needed. */
export interface WarmSandbox extends Sandbox {
  warmUp(): Promise<void>;
}

/** Makes the sandbox; nothing is started before the first run or `warmUp`. */
export function lineSandbox(
  options: LineSandboxOptions & {
    level: SandboxLevel;
    start: (memoryMb: number) => Promise<LineChild<ChildRequest, ChildReply>>;
  },
): WarmSandbox {
  const { level, isolation = "trajectory" } = options;
  const { memoryMb } = withLimits(options.limits);
  const warm = isolation === "run" ? Math.max(1, options.warm ?? 2) : Math.max(0, options.warm ?? 1);
  const most = Math.max(1, options.most ?? 8);
  const start = () => options.start(memoryMb);
  const own = childPool({ start, isolation: "trajectory", warm: isolation === "run" ? 1 : warm, most });
  const shared = isolation === "run" ? childPool({ start, isolation, warm, most }) : undefined;

  async function run(request: SandboxRequest): Promise<SandboxResult> {
    const limits = withLimits(request.limits, options.limits);
    const program: ChildRequest = {
      code: request.code,
      stdin: request.stdin ?? "",
      cpuMs: limits.cpuMs,
      outputCharacters: limits.outputCharacters,
      plainOnly: false,
      seed: randomInt(2 ** 31),
    };
    const inside = (plainOnly: boolean) => async (child: LineChild<ChildRequest, ChildReply>) => {
      const outcome = await child.request({ ...program, plainOnly }, limits, request.signal);
      const refused = outcome.kind === "reply" && outcome.reply.refused === true;
      const result = refused ? undefined : resultOf(outcome, limits);
      return { result, keep: outcome.kind === "reply" && !outcome.reply.dirty };
    };
    const result =
      (await shared?.use(undefined, inside(true))) ??
      (await own.use(shared ? undefined : request.sessionKey, inside(false)));
    if (!result) throw new CoaError("sandbox", "a sandbox child refused a program that it was told to run");
    return result;
  }

  return {
    level,
    languages: ["python"],
    run,
    endSession: own.endSession,
    warmUp: () => (shared ?? own).warmUp(),
    async close() {
      await Promise.all([own.close(), shared?.close()]);
    },
  };
}

function resultOf(outcome: ChildOutcome<ChildReply>, limits: SandboxLimits): SandboxResult {
  const nothing = { exitCode: null, stdout: "", ms: outcome.ms };
  if (outcome.kind === "timeout") {
    return { ...nothing, verdict: "timeout", stderr: `stopped after ${limits.cpuMs} ms of CPU or ${limits.wallMs} ms` };
  }
  if (outcome.kind === "exit") {
    const memory = /out of memory|allocation failed/i.test(outcome.errors);
    return {
      ...nothing,
      verdict: memory ? "memory" : "crashed",
      stderr: `the sandbox process ended: ${outcome.status}`,
    };
  }
  const { status, reason, interrupted, stdout, stderr, error } = outcome.reply;
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const exitCode = typeof status === "number" ? status : null;
  const result = { exitCode, stdout: text(stdout), stderr: text(stderr) + text(error), ms: outcome.ms };
  if (error) return { ...result, exitCode: null, verdict: "crashed" };
  // Whatever it says of its end: an endless chain of promises that is interrupted has nothing left to run.
  if (interrupted) return { ...result, exitCode: exitCode || null, verdict: "timeout" };
  if (reason === "MemoryError") return { ...result, verdict: "memory" };
  return { ...result, verdict: exitCode === 0 ? "ok" : "failed" };
}
