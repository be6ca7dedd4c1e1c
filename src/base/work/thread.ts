/**
 * A worker thread that answers calls: one map from a call's number to its caller, one way in which a thread that died fails
 * them all, one rule for its file (TypeScript here, JavaScript in the published package). The thread keeps the process alive
 * while a call is under way, and not while it waits for the next.
 */
import { parentPort, type ResourceLimits, Worker } from "node:worker_threads";
import { type Boundary, CoaError, messageOf } from "../../core/errors.ts";
import { inOrder } from "./in-order.ts";
import type { Release } from "./limiter.ts";

/** What a thread answers: functions of one argument, by name. */
export type ThreadCalls<Calls> = { [Name in keyof Calls]: (input: never) => unknown };

export interface ThreadOptions {
  /** In its errors: "the engine", "a training thread". */
  name: string;
  boundary: Boundary;
  /** What to do when it has ended, at the end of the error. */
  remedy?: string;
  /** Its `workerData`. */
  data?: unknown;
  /** Started by the first call, and again by the first call after it ended. Otherwise it starts now, and only once. */
  restarts?: boolean;
  resourceLimits?: ResourceLimits;
  /** Messages that are not answers. */
  onMessage?: (message: never) => void;
  /** It died; the calls under way have failed with the same error. */
  onEnd?: (error: CoaError) => void;
}

export interface Thread<Calls extends ThreadCalls<Calls>> {
  call<Name extends keyof Calls>(
    name: Name,
    ...input: Parameters<Calls[Name]>
  ): Promise<Awaited<ReturnType<Calls[Name]>>>;
  /** Sends a message that is not answered; what is moved is gone here. */
  post(message: unknown, moved?: ArrayBuffer[]): void;
  /** Keeps the process alive until released, as a call does until it is answered. */
  hold(): Release;
  /** Why it can't be called any more. */
  readonly ended: CoaError | undefined;
  /** Ends the thread; calls under way fail with the reason. */
  close(reason?: string): Promise<void>;
}

interface Call {
  call: number;
  name: string;
  input: unknown;
}

interface Reply {
  reply: number;
  value?: unknown;
  error?: PlainError;
}

/** An error that can cross threads. */
export type PlainError = Pick<CoaError, "problem" | "code" | "retryable" | "hint"> & { boundary?: Boundary };

/** The parts of an error that another thread needs to make it again. */
export function plainError(error: unknown): PlainError {
  if (!(error instanceof CoaError)) return { problem: messageOf(error), code: "", retryable: false, hint: undefined };
  const { problem, code, retryable, hint, boundary } = error;
  return { problem, code, retryable, hint, boundary };
}

/** An error of another thread; the boundary is for errors that name none. */
export function errorOf({ problem, code, ...rest }: PlainError, boundary: Boundary): CoaError {
  return new CoaError(rest.boundary ?? boundary, problem, { ...rest, ...(code && { code }) });
}

/** Starts a file as a thread: `startThread<typeof calls>(new URL("./index-worker.ts", import.meta.url), …)`. */
export function startThread<Calls extends ThreadCalls<Calls>>(file: URL, options: ThreadOptions): Thread<Calls> {
  const waiting = new Map<number, { resolve(value: never): void; reject(error: CoaError): void }>();
  let worker: Worker | undefined;
  let ended: CoaError | undefined;
  let calls = 0;
  let held = 0;

  function start(): Worker {
    const path = import.meta.url.endsWith(".js") ? file.href.replace(/\.ts$/, ".js") : file.href;
    const started = new Worker(new URL(path), {
      workerData: options.data,
      resourceLimits: options.resourceLimits,
      // Flags of the main thread (--eval, --test, --inspect…) mean nothing here, and some would stop the thread.
      execArgv: [],
    });
    if (held === 0) started.unref();
    started.on("message", (message: Reply) => {
      if (started !== worker) return;
      if (message.reply === undefined) return options.onMessage?.(message as never);
      const call = waiting.get(message.reply);
      waiting.delete(message.reply);
      release();
      if (message.error) call?.reject(errorOf(message.error, options.boundary));
      else call?.resolve(message.value as never);
    });
    const died = (reason: string, cause?: unknown) => {
      if (started !== worker) return;
      const error = end(`stopped: ${reason}`, cause);
      options.onEnd?.(error);
    };
    started.on("error", (error) => died(messageOf(error), error));
    started.on("exit", (code) => died(`exit code ${code}`));
    return started;
  }

  function end(reason: string, cause?: unknown): CoaError {
    const retryable = options.restarts === true;
    const remedy = options.remedy ? `; ${options.remedy}` : "";
    const error = new CoaError(options.boundary, `${options.name} ${reason}${remedy}`, { retryable, cause });
    worker = undefined;
    if (!retryable) ended = error;
    const failed = [...waiting.values()];
    held -= failed.length;
    waiting.clear();
    for (const { reject } of failed) reject(error);
    return error;
  }

  function hold(): void {
    if (held++ === 0) worker?.ref();
  }

  function release(): void {
    if (--held === 0) worker?.unref();
  }

  if (!options.restarts) worker = start();
  return {
    get ended() {
      return ended;
    },
    async call(name, input?: unknown) {
      if (ended) throw ended;
      hold();
      worker ??= start();
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      waiting.set(++calls, { resolve, reject });
      worker.postMessage({ call: calls, name: name as string, input } satisfies Call);
      return promise;
    },
    post: (message, moved) => worker?.postMessage(message, moved),
    hold() {
      let holds = true;
      hold();
      return () => {
        if (holds) release();
        holds = false;
      };
    },
    async close(reason = "is closed") {
      const closing = worker;
      if (closing) end(reason);
      await closing?.terminate();
    },
  };
}

/** In a thread: answers calls, as they come or one after another. What can't be made fails every call with the reason. */
export function answerCalls<Calls extends ThreadCalls<Calls>>(
  calls: Calls | Promise<Calls>,
  options: { inOrder?: boolean; onMessage?: (message: never) => void } = {},
): void {
  const made = Promise.resolve(calls);
  made.catch(() => {}); // reported with the first call's answer
  const inTurn = options.inOrder ? inOrder() : <T>(act: () => Promise<T>) => act();
  parentPort!.on("message", (message: Call) => {
    if (message.call === undefined) return options.onMessage?.(message as never);
    const { call: reply, name, input } = message;
    void inTurn(async () => (await made)[name as keyof Calls](input as never))
      .then((value): Reply => ({ reply, value }))
      .catch((error: unknown): Reply => ({ reply, error: plainError(error) }))
      .then((answer) => parentPort!.postMessage(answer));
  });
}

/** In a thread: sends a message that is not an answer. */
export function postFromThread(message: unknown): void {
  parentPort!.postMessage(message);
}
