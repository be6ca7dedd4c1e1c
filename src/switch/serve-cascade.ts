/**
 * A cascade at work behind a server: chains that it is sure of answer, the others go to the old system, and an answer always
 * says which way it came. The old system may fail or its budget may be spent: then the request fails with the reason, or, where
 * that was chosen, the model answers and the answer is marked.
 */
import { messageOf } from "../core/errors.ts";
import type { CallUsage } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { addUsage, usageOfCall } from "../core/usage.ts";
import type { Alert, Audit } from "./audit.ts";
import { type Cascade, scoreOf } from "./cascade.ts";
import { chainFeatures, kindOf } from "./features.ts";

/** One answer of the old system. */
export interface OldReply {
  model: string;
  text: string;
  ms: number;
  usage: CallUsage;
}

/** The part of a request that a cascade looks at. */
export interface Asked {
  id: string;
  task: { question: string };
}

export interface ServedCascadeOptions<R extends Asked> {
  cascade: Cascade;
  audit: Audit;
  /** Names the cascade in the audit. */
  name: string;
  ask(request: R, signal: AbortSignal): Promise<OldReply>;
  /** Whether two answers say the same; null where that can't be told. */
  agree(request: R, old: string, model: string | null): Promise<boolean | null>;
  /** What becomes of a question that the old system can't be asked; `fail` by default. */
  whenDown?: "fail" | "model";
  /** Max questions to the old system an hour, audits included; none by default. */
  perHour?: number;
  /** Refuses a request with a status and a code. */
  refuse(message: string, code: string): Error;
  onAlert?(alert: Alert): void;
  count(name: string, labels: Record<string, string>): void;
  now?: () => number;
}

/** What `serve` needs of a cascade. */
export interface ServedCascade<R extends Asked> {
  finish(
    trajectory: Trajectory,
    request: R,
    chain: { profile: Profile; signal: AbortSignal },
  ): Promise<{ kept: Trajectory; served: Trajectory }>;
  /** Waits for audits that are under way. */
  settle(): Promise<void>;
}

export function servedCascade<R extends Asked>(options: ServedCascadeOptions<R>): ServedCascade<R> {
  const { cascade, audit, name, agree, whenDown = "fail", count, now = Date.now } = options;
  const door = oldSystemDoor(options.ask, { perHour: options.perHour, now });
  const running = new Set<Promise<void>>();

  function whyAsked(trajectory: Trajectory, profile: Profile, kind: string): { reason?: string; score: number | null } {
    const score = scoreOf(cascade, chainFeatures(profile, trajectory), trajectory.answer);
    const told = Number.isFinite(score) ? score : null;
    const { reason } = trajectory.ending;
    if (trajectory.answer === null) return { reason: reason === "error" ? "error" : "no-answer", score: told };
    if (!audit.trusts(kind)) return { reason: "distrusted", score: told };
    return score < cascade.threshold ? { reason: "unsure", score: told } : { score: told };
  }

  async function addAudit(
    request: R,
    kind: string,
    differs: boolean | null,
    more: { model?: string; old?: string } = {},
  ) {
    // biome-ignore format: one signature
    count("coa_audit_total", { differs: differs === null ? "unknown" : differs ? "yes" : "no" });
    const { question } = request.task;
    const alert = await audit.add({ id: request.id, cascade: name, at: new Date(now()).toISOString(), kind, differs, question, ...more }); // biome-ignore format: one line of the log
    if (!alert) return;
    count("coa_cascade_alerts_total", { kind: alert.kind });
    options.onAlert?.(alert);
  }

  /** Asks the old system too, after the caller has its answer. */
  function auditLater(request: R, kind: string, answer: string | null): void {
    const asked = (async () => {
      try {
        const { text } = await door.ask(request, AbortSignal.timeout(600_000));
        const same = await agree(request, text, answer).catch(() => null);
        await addAudit(request, kind, same === null ? null : !same, { model: answer ?? "", old: text });
      } catch {
        count("coa_audit_total", { differs: "not-asked" });
      }
    })().finally(() => running.delete(asked));
    running.add(asked);
  }

  return {
    async finish(trajectory, request, { profile, signal }) {
      const ending = trajectory.ending.reason;
      if (ending === "suspended" || signal.aborted) return { kept: trajectory, served: trajectory };
      const kind = kindOf(trajectory);
      const { reason, score } = whyAsked(trajectory, profile, kind);
      const marked = (via: "model" | "old" | "model-unsure", more: Partial<Trajectory["served"]> = {}): Trajectory => ({
        ...trajectory,
        served: { ...trajectory.served, ...more, cascade: { via, kind, score, ...(reason && { reason }) } },
      });
      const chosen = audit.chooses(request.id);
      if (reason === undefined) {
        count("coa_cascade_total", { via: "model", reason: "sure" });
        if (chosen) auditLater(request, kind, trajectory.answer);
        const kept = marked("model");
        return { kept, served: kept };
      }
      try {
        const { model, text, ms, usage } = await door.ask(request, signal);
        count("coa_cascade_total", { via: "old", reason });
        if (chosen) await addAudit(request, kind, false);
        const kept = marked("old", { fallback: { reason, model, answer: text, ms, usage } });
        const sum = addUsage(trajectory.usage, usageOfCall(usage));
        return {
          kept,
          served: { ...kept, usage: sum, answer: text, ending: { reason: "answered", detail: "fallback" } },
        };
      } catch (error) {
        if (signal.aborted) throw error;
        const why = messageOf(error);
        if (whenDown === "fail" || trajectory.answer === null) {
          count("coa_cascade_total", { via: "none", reason });
          throw options.refuse(`the model is not sure enough (${reason}), and the old system can't be asked: ${why}`, door.spent() ? "escalations_spent" : "old_system_down"); // biome-ignore format: one refusal
        }
        count("coa_cascade_total", { via: "model-unsure", reason });
        const kept = marked("model-unsure", { fallback: { reason, model: "", error: why } });
        return { kept, served: kept };
      }
    },

    async settle() {
      await Promise.all(running);
    },
  };
}

const failuresToOpen = 3;
const restMs = 30_000;
const hourMs = 3_600_000;

/** The way to the old system: closed for a while after it failed several times in a row, and when its budget is spent. */
export function oldSystemDoor<R>(
  ask: (request: R, signal: AbortSignal) => Promise<OldReply>,
  { perHour, now }: { perHour?: number; now: () => number },
) {
  let failures = 0;
  let closedUntil = 0;
  let asked: number[] = [];
  const spent = () => {
    if (perHour === undefined) return false;
    asked = asked.filter((at) => at > now() - hourMs);
    return asked.length >= perHour;
  };
  return {
    spent,
    async ask(request: R, signal: AbortSignal): Promise<OldReply> {
      if (spent()) throw new Error(`${perHour} questions in an hour are allowed, and they are used up`);
      if (now() < closedUntil) throw new Error(`it failed ${failures} times in a row and is tried again shortly`);
      // One request tries whether it is back; the others wait for what that one finds.
      if (failures >= failuresToOpen) closedUntil = now() + restMs;
      asked.push(now());
      try {
        const reply = await ask(request, signal);
        failures = 0;
        closedUntil = 0;
        return reply;
      } catch (error) {
        if (!signal.aborted && ++failures >= failuresToOpen) closedUntil = now() + restMs;
        throw error;
      }
    },
  };
}
