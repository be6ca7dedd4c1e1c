/**
 * A child process that answers one JSON line with one JSON line, one at a time, under a deadline. Past the deadline it
 * is killed; whatever it does, the caller gets an outcome. An idle child does not keep our own process alive.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Socket } from "node:net";
import { CoaError } from "../../core/errors.ts";
import { cpuMsOf } from "./process-tree.ts";

/** What became of a request. */
export type ChildOutcome<Reply> =
  | { kind: "reply"; reply: Reply; ms: number }
  | { kind: "timeout"; ms: number }
  | { kind: "exit"; status: string; errors: string; ms: number };

export interface LineChild<Request, Reply> {
  readonly pid: number;
  readonly alive: boolean;
  request(
    request: Request,
    limits: { cpuMs: number; wallMs: number },
    signal?: AbortSignal,
  ): Promise<ChildOutcome<Reply>>;
  kill(): void;
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
}

/** Starts the child and waits until it says that it is ready. */
export async function startLineChild<Request, Reply>(options: {
  command: string;
  args: string[];
  /** Opened by us and handed over as descriptor 3, so that a child without rights can still read it. */
  inheritedFile?: string;
  startMs?: number;
  maxReplyBytes?: number;
}): Promise<LineChild<Request, Reply>> {
  const descriptor = options.inheritedFile === undefined ? undefined : openSync(options.inheritedFile, "r");
  const extra: number[] = descriptor === undefined ? [] : [descriptor];
  const child = spawn(options.command, options.args, { env: {}, cwd: "/", stdio: ["pipe", "pipe", "pipe", ...extra] });
  if (descriptor !== undefined) closeSync(descriptor);
  const [stdin, stdout, stderr] = [child.stdin!, child.stdout!, child.stderr!];
  for (const part of [child, stdin as Socket, stdout as Socket, stderr as Socket]) part.unref?.();
  const maxReplyBytes = options.maxReplyBytes ?? 256 * 1024 * 1024;
  let pending: ((outcome: { line: string } | { status: string } | { timeout: true }) => void) | undefined;
  let errors = "";
  let chunks: Buffer[] = [];
  let bytes = 0;
  let alive = true;
  const kill = (): void => {
    alive = false;
    child.kill("SIGKILL");
  };
  const settle = (outcome: { line: string } | { status: string } | { timeout: true }): void => {
    const waiting = pending;
    pending = undefined;
    waiting?.(outcome);
  };
  stdin.on("error", () => {});
  stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  stdout.on("data", (chunk: Buffer) => {
    const end = chunk.indexOf(10);
    chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
    if ((bytes += chunk.length) > maxReplyBytes) kill();
    if (end < 0) return;
    const line = Buffer.concat(chunks).toString();
    chunks = [];
    bytes = 0;
    settle({ line });
  });
  const exited = new Promise<void>((resolve) => {
    const gone = (status: string): void => {
      alive = false;
      settle({ status });
      resolve();
    };
    child.once("error", (error) => gone(error.message));
    child.once("close", (code, signal) => gone(signal ?? `exit code ${code}`));
  });

  async function exchange(text: string | undefined, limits: { cpuMs: number; wallMs: number }, signal?: AbortSignal) {
    signal?.throwIfAborted();
    if (pending) throw new CoaError("sandbox", "a sandbox child was asked two things at once");
    const started = performance.now();
    const cpuBefore = cpuMsOf(child.pid);
    const answer = new Promise<{ line: string } | { status: string } | { timeout: true }>((resolve) => {
      pending = resolve;
    });
    const stop = (): void => {
      kill();
      settle({ timeout: true });
    };
    // The child stops plain Python loops itself; this one is for those that never look at the clock.
    const watch = setInterval(() => {
      if ((cpuMsOf(child.pid) ?? 0) - (cpuBefore ?? 0) > limits.cpuMs + 300) stop();
    }, 200);
    const timer = setTimeout(stop, limits.wallMs);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      if (!alive) settle({ status: "it had exited before" });
      else if (text !== undefined) stdin.write(`${text}\n`);
      const outcome = await answer;
      return { outcome, ms: performance.now() - started };
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      signal?.removeEventListener("abort", stop);
    }
  }

  const startMs = options.startMs ?? 60_000;
  const { outcome: first } = await exchange(undefined, { cpuMs: startMs, wallMs: startMs });
  if (!("line" in first)) {
    kill();
    const why = "status" in first ? `${first.status}\n${errors}` : `not ready after ${startMs} ms`;
    throw new CoaError("sandbox", `could not start a sandbox child (${options.command}): ${why.trim()}`);
  }
  return {
    pid: child.pid as number,
    get alive() {
      return alive;
    },
    exited,
    kill,
    async request(request, limits, signal) {
      const { outcome, ms } = await exchange(JSON.stringify(request), limits, signal);
      if (signal?.aborted) throw signal.reason;
      if ("timeout" in outcome) return { kind: "timeout", ms };
      if ("status" in outcome) return { kind: "exit", status: outcome.status, errors, ms };
      try {
        return { kind: "reply", reply: JSON.parse(outcome.line) as Reply, ms };
      } catch {
        kill();
        return { kind: "exit", status: "it answered with something that is not JSON", errors, ms };
      }
    },
  };
}
