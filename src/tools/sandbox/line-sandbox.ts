/** A sandbox made of line children: requests in, replies out, and how an outcome becomes a verdict. */
import { randomInt } from "node:crypto";
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
  /** Bring the interpreter and its in-memory disk back to their baseline afterwards. */
  reset: boolean;
  seed: number;
}

/** What the child answers. `dirty` asks for the child to be thrown away; `error` says that the interpreter itself broke. */
export interface ChildReply {
  status?: number;
  reason?: string;
  interrupted?: boolean;
  stdout?: string;
  stderr?: string;
  dirty?: string;
  error?: string;
}

export interface LineSandboxOptions {
  /** `trajectory`: a child per session key, never shared. `run`: few shared children, cleaned after each run; weaker. */
  isolation?: "trajectory" | "run";
  /** Children kept warm (default 1); with `isolation: "run"` the number of shared children (default 2). */
  warm?: number;
  /** Most children at once (default 8); past that the session that has rested longest gives up its child. */
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
    languages: Sandbox["languages"];
    start: (memoryMb: number) => Promise<LineChild<ChildRequest, ChildReply>>;
  },
): WarmSandbox {
  const { level, languages, isolation = "trajectory" } = options;
  const { memoryMb } = withLimits(options.limits);
  const warm = isolation === "run" ? Math.max(1, options.warm ?? 2) : Math.max(0, options.warm ?? 1);
  const most = Math.max(1, options.most ?? 8);
  const pool = childPool({ start: () => options.start(memoryMb), isolation, warm, most });

  async function run(request: SandboxRequest): Promise<SandboxResult> {
    const limits = withLimits(request.limits, options.limits);
    const program: ChildRequest = {
      code: request.code,
      stdin: request.stdin ?? "",
      cpuMs: limits.cpuMs,
      outputCharacters: limits.outputCharacters,
      reset: isolation === "run",
      seed: randomInt(2 ** 31),
    };
    return pool.use(request.sessionKey, async (child) => {
      const outcome = await child.request(program, limits, request.signal);
      return { result: resultOf(outcome, limits), keep: outcome.kind === "reply" && !outcome.reply.dirty };
    });
  }

  return { level, languages, run, endSession: pool.endSession, warmUp: pool.warmUp, close: pool.close };
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
  if (interrupted && exitCode !== 0) return { ...result, verdict: "timeout" };
  if (reason === "MemoryError") return { ...result, verdict: "memory" };
  return { ...result, verdict: exitCode === 0 ? "ok" : "failed" };
}
