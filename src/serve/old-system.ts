/**
 * A chain beside the system that it is to replace. With `shadow` the old system answers and the chain runs too, without
 * being shown: both answers are kept and their agreement is counted. With `fallback` the old system is asked where the
 * chain ended without an answer, or was itself not sure of it. What happened is written into the trajectory
 * (`served.shadow`, `served.fallback`).
 */
import { Refusal, withoutAddresses } from "../base/http/refusal.ts";
import { checkScore } from "../chain/check-score.ts";
import type { Served } from "../core/chain-marks.ts";
import { messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { ChatModel, ChatReply } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { addUsage, usageOfCall } from "../core/usage.ts";
import { type ServedCascade, type ServedCascadeOptions, servedCascade } from "../switch/serve-cascade.ts";
import type { ChainRequest } from "./chain-request.ts";
import type { ChainService, Finish, ServedChain } from "./chain-service.ts";
import type { Metrics } from "./metrics.ts";
import { endingEvents, type ServedEnd } from "./served-events.ts";

/** Whether two answers to a task say the same; null where that can't be told. */
export type Agree = (task: Task, oldAnswer: string, chainAnswer: string | null) => Promise<boolean | null>;

export interface OldSystemOptions {
  /** Answers every request; the chain runs too, without being shown. */
  shadow?: ChatModel;
  /** Asked where the chain has no answer, or one that its own check gives less than `trust`. */
  fallback?: ChatModel;
  /** How answers of shadow and chain are compared; the same text without regard to case and spaces by default. @internal */
  agree?: Agree;
  /** The least score of a check that is trusted; 3 by default. */
  trust?: number;
  /** Decides by a fitted cascade instead of the check. @internal */
  cascade?: Pick<ServedCascadeOptions<ChainRequest>, "cascade" | "audit" | "name" | "whenDown" | "perHour" | "onAlert">;
}

interface OldAnswer {
  reply: ChatReply;
  ms: number;
}

async function askOld(old: ChatModel, request: ChainRequest, signal: AbortSignal): Promise<OldAnswer> {
  const { task, instructions, sampling } = request;
  const system: Message[] = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  const messages = [...system, ...(task.history ?? []), { role: "user" as const, content: task.question }];
  const started = performance.now();
  const reply = await old.chat({ messages, temperature: sampling.temperature, signal });
  return { reply, ms: performance.now() - started };
}

/** A cascade between the chain and the fallback. @internal */
export function cascadeOver(
  options: OldSystemOptions & { fallback: ChatModel; cascade: NonNullable<OldSystemOptions["cascade"]> },
  metrics: Metrics,
): ServedCascade<ChainRequest> {
  const { fallback, agree = sameWords, cascade } = options;
  return servedCascade({
    ...cascade,
    async ask(request, signal) {
      const { reply, ms } = await askOld(fallback, request, signal);
      return { model: fallback.name, text: reply.text, ms, usage: reply.usage };
    },
    agree: ({ task }, old, model) => agree(task, old, model),
    refuse: (message, code) => refused(503, message, code, { "retry-after": "30" }),
    count: (name, labels) => metrics.add(name, labels),
  });
}

/** Where the old system stands is for the log, not for callers. */
function refused(status: number, message: string, code: string, headers?: Record<string, string>): Refusal {
  return new Refusal(status, withoutAddresses(message), { code, headers, cause: new Error(message) });
}

/** What is done when a chain ended: the fallback is asked where it is needed. */
export function fallbackFinish(options: OldSystemOptions & { fallback: ChatModel }, metrics: Metrics): Finish {
  const { fallback, trust = 3 } = options;
  return async (trajectory, request, { profile, signal }) => {
    const reason = whyNotTrusted(trajectory, checkScore(profile, trajectory), trust);
    if (reason === undefined || signal.aborted) return { kept: trajectory, served: trajectory };
    const note = (more: Partial<Served["fallback"]>): Trajectory => ({
      ...trajectory,
      served: { ...trajectory.served, fallback: { reason, model: fallback.name, ...more } },
    });
    try {
      const { reply, ms } = await askOld(fallback, request, signal);
      metrics.add("coa_fallback_total", { reason, ok: "yes" });
      const kept = note({ answer: reply.text, ms, usage: reply.usage });
      const usage = addUsage(trajectory.usage, usageOfCall(reply.usage));
      return {
        kept,
        served: { ...kept, usage, answer: reply.text, ending: { reason: "answered", detail: "fallback" } },
      };
    } catch (error) {
      metrics.add("coa_fallback_total", { reason, ok: "no" });
      const kept = note({ error: messageOf(error) });
      return { kept, served: kept };
    }
  };
}

function whyNotTrusted({ answer, ending }: Trajectory, score: number | undefined, trust: number): string | undefined {
  if (ending.reason === "suspended" || ending.reason === "aborted") return undefined;
  if (answer === null || answer.trim() === "") return ending.reason === "error" ? "error" : "no-answer";
  return score !== undefined && score < trust ? "low-check" : undefined;
}

/** Pairs of a request and what the old system said to it, for the end of its chain. */
export function shadowPairs(options: OldSystemOptions & { shadow: ChatModel }, metrics: Metrics) {
  const { shadow, agree = sameWords } = options;
  const asked = new WeakMap<ChainRequest, Promise<OldAnswer>>();

  const finish: Finish = async (trajectory, request) => {
    const answered = await asked.get(request)?.catch(() => undefined);
    if (!answered) return { kept: trajectory, served: trajectory };
    const { reply, ms } = answered;
    const agrees = await agree(request.task, reply.text, trajectory.answer).catch(() => null);
    metrics.add("coa_shadow_total", { agrees: agrees === null ? "unknown" : agrees ? "yes" : "no" });
    metrics.add("coa_shadow_seconds_total", { system: "old" }, ms / 1000);
    metrics.add("coa_shadow_seconds_total", { system: "chain" }, trajectory.usage.wallMs / 1000);
    const note = { model: shadow.name, answer: reply.text, agrees, ms, usage: reply.usage };
    const kept = { ...trajectory, served: { ...trajectory.served, shadow: note } };
    return { kept, served: kept };
  };

  /** A service that answers from the old system while its chains run beside. */
  function over(service: ChainService) {
    const stop = new AbortController();
    const running = new Set<Promise<void>>();
    return {
      ...service,
      get running() {
        return service.running;
      },
      get waiting() {
        return service.waiting;
      },
      async start(request: ChainRequest, signal: AbortSignal): Promise<ServedChain> {
        const old = askOld(shadow, request, signal);
        asked.set(request, old);
        // The caller may disconnect or have its answer long before: the chain continues for the comparison.
        const chain = (async () => {
          await (await service.start(request, stop.signal))(() => {});
        })()
          .catch(() => metrics.add("coa_shadow_total", { agrees: "not-run" }))
          .finally(() => running.delete(chain));
        running.add(chain);
        const { reply } = await old.catch((error: unknown) => {
          if (signal.aborted) throw error;
          throw refused(502, `the old system failed: ${messageOf(error)}`, "shadow_failed");
        });
        const events = endingEvents(oldTrajectory(request, shadow.name, reply, service));
        const end = events.pop() as ServedEnd;
        return async (tell) => {
          for (const event of events) tell(event);
          return end;
        };
      },
      /** Waits for the chains that still run; when the signal aborts, stops them. */
      async settle(signal: AbortSignal): Promise<void> {
        const late = () => stop.abort(new DOMException("the server stops", "AbortError"));
        if (signal.aborted) late();
        else signal.addEventListener("abort", late, { once: true });
        await Promise.all(running);
      },
    };
  }
  return { finish, over };
}

/** The answer of the old system in the shape that every API is projected from. */
function oldTrajectory({ id, task }: ChainRequest, model: string, reply: ChatReply, service: ChainService): Trajectory {
  const { profile } = service;
  return {
    version: 1,
    id,
    taskId: task.id,
    profile: profile.name,
    model,
    prompt: [{ role: "user", content: task.question }],
    segments: [{ tag: profile.answer, text: reply.text, by: "model" }],
    answer: reply.text,
    ending: { reason: reply.finish === "length" ? "limit" : "answered" },
    usage: usageOfCall(reply.usage),
    violations: [],
    source: { kind: "shadow" },
  };
}

const plain = (text: string) => text.toLowerCase().replace(/\s+/g, " ").trim();

const sameWords: Agree = async (_task, old, chain) => chain !== null && plain(old) === plain(chain);
