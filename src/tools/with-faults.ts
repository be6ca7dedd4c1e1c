/**
 * Tools that fail, by plan. Real searches come back empty and servers time out; recorded runs of a team seldom show
 * what to do then. `withFaults` wraps any tool so that a share of its calls goes
 * wrong in such a way. Which calls is fixed by the plan's seed, the chain's id and the number of the call in that
 * chain, so two models that are compared on the same tasks get the same faults. A chain marks its struck calls
 * (`Segment.call.fault`).
 */

import { seededRandom } from "../base/work/random.ts";
import { ToolError, UsageError } from "../core/errors.ts";
import type { Tool } from "../core/tool.ts";

export const faultKinds = ["empty", "error", "timeout"] as const;

export interface Fault {
  /** `empty`: the call finds nothing. `error`: it fails. `timeout`: it fails as if its time had run out. */
  kind: "empty" | "error" | "timeout";
  /** Share of the calls that fail, 0 to 1. */
  rate: number;
  /** Names of the tools that fail; all of them by default. */
  tools?: readonly string[];
  /** What the model reads instead of the result. */
  text?: string;
}

export interface FaultPlan {
  seed: number;
  faults: readonly Fault[];
  /**
   * Share of the chains that have faults at all; 1 by default. Two numbers: it grows from one to the other over a
   * training run.
   */
  share?: number | readonly [first: number, last: number];
}

const defaultText: Readonly<Record<Fault["kind"], string>> = {
  empty: "no results",
  error: "HTTP 503: the service is not available, try again later",
  timeout: "no answer within the time limit",
};

/**
 * The same tools, with the plan's faults. A repeated call runs again, because it may work the next time. `progress` (0
 * to 1) says how far a training run is, for a share that grows.
 */
export function withFaults(tools: readonly Tool[], plan: FaultPlan, progress = 1): Tool[] {
  checkPlan(plan);
  const [first, last] = sharesOf(plan);
  const share = first + (last - first) * progress;
  const numberOfCall = callCounter();
  return tools.map((tool) => {
    const faults = plan.faults.filter(({ tools: names }) => !names || names.includes(tool.name));
    if (faults.length === 0) return tool;
    return {
      ...tool,
      stateful: true,
      execute(input, context) {
        const chain = context.trajectoryId ?? context.taskId ?? "";
        const number = numberOfCall(chain, tool.name);
        if (seededRandom(plan.seed, "chain", chain).next() >= share) return tool.execute(input, context);
        const fault = struckBy(faults, seededRandom(plan.seed, chain, tool.name, "call", number).next());
        if (!fault) return tool.execute(input, context);
        const { kind, text = defaultText[kind] } = fault;
        context.onFault?.(kind);
        if (kind === "empty") return text;
        throw new ToolError(tool.name, text, { retryable: true });
      },
    };
  });
}

function sharesOf({ share = 1 }: FaultPlan): readonly [number, number] {
  return typeof share === "number" ? [share, share] : share;
}

function checkPlan(plan: FaultPlan): void {
  const isShare = (value: number) => value >= 0 && value <= 1;
  for (const { kind, rate } of plan.faults) {
    if (!faultKinds.includes(kind)) throw new UsageError(`no fault "${kind}"; the faults are ${faultKinds.join(", ")}`);
    if (!isShare(rate)) throw new UsageError(`the rate of fault "${kind}" is ${rate}; it must be 0 to 1`);
  }
  const wrong = sharesOf(plan).find((one) => !isShare(one));
  if (wrong !== undefined) throw new UsageError(`the share of chains with faults is ${wrong}; it must be 0 to 1`);
}

/** Chains whose calls are counted at the same time; the oldest are forgotten first. */
const rememberedChains = 10_000;

/** Counts the calls of each tool in each chain, from 0. */
function callCounter(): (chain: string, tool: string) => number {
  const calls = new Map<string, Map<string, number>>(); // [chain][tool]
  return (chain, tool) => {
    let counts = calls.get(chain);
    if (!counts) {
      calls.set(chain, (counts = new Map()));
      if (calls.size > rememberedChains) calls.delete(calls.keys().next().value!);
    }
    const number = counts.get(tool) ?? 0;
    counts.set(tool, number + 1);
    return number;
  };
}

/** One random draw decides among the faults, so that their rates add up. */
function struckBy(faults: readonly Fault[], draw: number): Fault | undefined {
  let rest = draw;
  return faults.find(({ rate }) => (rest -= rate) < 0);
}

const shares = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "all"];
const troubles: Readonly<Record<Fault["kind"], string>> = { empty: "find nothing", error: "fail", timeout: "time out" };

/** The faults of a plan in words that follow "where": "four in ten searches find nothing". */
export function faultWords({ faults }: FaultPlan): string {
  const parts = faults.map(({ kind, rate, tools }) => {
    const tenths = shares[Math.round(rate * 10)];
    const share =
      Math.abs(rate * 10 - Math.round(rate * 10)) < 1e-9 ? `${tenths} in ten` : `${+(100 * rate).toFixed(1)} % of`;
    const calls = tools?.map((tool) => (/search$/.test(tool) ? "searches" : `calls of ${tool}`)) ?? ["calls"];
    return `${share} ${[...new Set(calls)].join(" and ")} ${troubles[kind]}`;
  });
  return parts.join(" and ");
}

/**
 * Reads a plan from one line: `web_search:empty=0.4,timeout=0.1,seed=7`. A fault is `kind=rate`, for one tool with its name
 * and a colon before it; `seed` and `share` (`0.5`, or `0.5..0.9` for one that grows) are the plan's own.
 */
export function parseFaultPlan(text: string): FaultPlan {
  const plan: FaultPlan & { faults: Fault[] } = { seed: 1, faults: [] };
  for (const part of text.split(",").filter((one) => one.trim() !== "")) {
    const found = /^\s*(?:([\w-]+):)?([a-z]+)=(\d*\.?\d+)(?:\.\.(\d*\.?\d+))?\s*$/.exec(part);
    const [, tool, name, number, grownTo] = found ?? [];
    if (!found || (grownTo !== undefined && (tool || name !== "share")))
      throw new UsageError(
        `"${part.trim()}" is not a fault; write for example web_search:empty=0.4,timeout=0.1,seed=7`,
      );
    if (!tool && name === "share") plan.share = grownTo ? [Number(number), Number(grownTo)] : Number(number);
    else if (!tool && name === "seed") plan.seed = Number(number);
    else plan.faults.push({ kind: name as Fault["kind"], rate: Number(number), ...(tool ? { tools: [tool] } : {}) });
  }
  checkPlan(plan);
  return plan;
}
