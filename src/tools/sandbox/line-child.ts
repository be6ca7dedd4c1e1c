/**
 * A child process that answers one JSON line with one JSON line, one at a time, under a deadline. The lines travel on
 * descriptors of their own (3 in, 4 out), which the programs inside can't reach, and an answer repeats the random nonce
 * of its request. A child that writes anything else, there or on its standard output, is killed, so that no answer can
 * be taken for another's. Past the deadline it is killed too; whatever it does, the caller gets an outcome. An idle
 * child does not keep our own process alive.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import type { Socket } from "node:net";
import { CoaError } from "../../core/errors.ts";
import { cpuMsOf, NotStarted } from "./launch.ts";

export type ChildOutcome<Reply> =
  | { kind: "reply"; reply: Reply; ms: number }
  | { kind: "timeout"; ms: number }
  | { kind: "exit"; status: string; errors: string; ms: number };

type Answer = { line: string } | { status: string } | { timeout: true };

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
  /** Opened by us and handed over as descriptor 5, so that a child without rights can still read it. */
  inheritedFile?: string;
  startMs?: number;
}): Promise<LineChild<Request, Reply>> {
  const descriptor = options.inheritedFile === undefined ? undefined : openSync(options.inheritedFile, "r");
  const extra: number[] = descriptor === undefined ? [] : [descriptor];
  const stdio = ["ignore", "pipe", "pipe", "pipe", "pipe", ...extra] as const;
  const child = spawn(options.command, options.args, { env: {}, cwd: "/", stdio: [...stdio] });
  if (descriptor !== undefined) closeSync(descriptor);
  const [, stdout, stderr, requests, replies] = child.stdio as unknown as [null, Socket, Socket, Socket, Socket];
  for (const part of [child, stdout, stderr, requests, replies]) part.unref();
  const maxReplyBytes = 256 * 1024 * 1024;
  let pending: ((answer: Answer) => void) | undefined;
  let errors = "";
  let chunks: Buffer[] = [];
  let bytes = 0;
  let alive = true;
  const kill = (): void => {
    alive = false;
    child.kill("SIGKILL");
  };
  const settle = (answer: Answer): void => {
    const waiting = pending;
    pending = undefined;
    waiting?.(answer);
  };
  const stray = (): void => {
    kill();
    settle({ status: "it spoke out of turn" });
  };
  requests.on("error", () => {});
  stdout.on("data", stray);
  stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  replies.on("data", (chunk: Buffer) => {
    const end = chunk.indexOf(10);
    if (!pending || (end >= 0 && end < chunk.length - 1)) return stray();
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
    const answer = new Promise<Answer>((resolve) => {
      pending = resolve;
    });
    errors = "";
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
      else if (text !== undefined) requests.write(`${text}\n`);
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
    throw new NotStarted(options.command, why);
  }
  return {
    pid: child.pid as number,
    get alive() {
      return alive;
    },
    exited,
    kill,
    async request(request, limits, signal) {
      const nonce = randomBytes(16).toString("hex");
      const { outcome, ms } = await exchange(JSON.stringify({ ...request, nonce }), limits, signal);
      if (signal?.aborted) throw signal.reason;
      if ("timeout" in outcome) return { kind: "timeout", ms };
      if ("status" in outcome) return { kind: "exit", status: outcome.status, errors, ms };
      try {
        const reply = JSON.parse(outcome.line) as Reply & { nonce: unknown };
        if (reply.nonce === nonce) return { kind: "reply", reply, ms };
      } catch {} // not JSON, or null
      kill();
      return { kind: "exit", status: "its answer belongs to no request", errors, ms };
    },
  };
}
