/**
 * Tools that fail, by plan. Real searches come back empty, pages move, servers time out, copies are out of date;
 * recorded runs of a team seldom show what to do then. `withFaults` wraps any tool so that a share of its calls goes
 * wrong in such a way. Which calls is fixed by the plan's seed, the chain's id and the number of the call in that
 * chain, so two models that are compared on the same tasks get the same faults. A chain marks its struck calls
 * (`Segment.call.fault`).
 */

import { sleep } from "../base/work/limiter.ts";
import { type SeededRandom, seededRandom } from "../base/work/random.ts";
import { ToolError, UsageError } from "../core/errors.ts";
import type { Tool, ToolContext } from "../core/tool.ts";

/**
 * `empty`: the call finds nothing. `error`: it fails. `timeout`: it fails as if its time had run out. `moved`: an address in
 * its input now answers only under another one, which the error names, for the whole chain. `stale`: it returns an old
 * copy, marked as such, with other numbers. `slow`: it works, after a delay.
 */
export const faultKinds = ["empty", "error", "timeout", "moved", "stale", "slow"] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  kind: FaultKind;
  /** Share of the calls (`moved`: of the addresses) that fail, 0 to 1. */
  rate: number;
  /** Names of the tools that fail; all of them by default. */
  tools?: readonly string[];
  /** What the model reads instead of the result (`empty`, `error`, `timeout`), or before it (`stale`, `moved`). */
  text?: string;
  /** How long a `slow` call waits; 2 seconds by default. */
  delayMs?: number;
}

export interface FaultPlan {
  seed: number;
  faults: readonly Fault[];
  /**
   * Share of the chains that have faults at all; 1 by default. Two numbers: it grows from one to the other over a
   * training run.
   */
  share?: number | readonly [first: number, last: number];
  /** Calls of each tool that a chain may make; later ones are refused. No limit by default. */
  budget?: number;
}

const defaultText: Readonly<Record<FaultKind, string>> = {
  empty: "no results",
  error: "HTTP 503: the service is not available, try again later",
  timeout: "no answer within the time limit",
  moved: "HTTP 410: the page has moved to",
  stale: "(old copy)",
  slow: "",
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
    if (faults.length === 0 && plan.budget === undefined) return tool;
    return {
      ...tool,
      stateful: true,
      async execute(input, context) {
        const chain = context.trajectoryId ?? context.taskId ?? "";
        const number = numberOfCall(chain, tool.name);
        if (seededRandom(plan.seed, "chain", chain).next() >= share) return tool.execute(input, context);
        if (plan.budget !== undefined && number >= plan.budget)
          throw new ToolError(tool.name, `the budget of ${plan.budget} calls is spent`);
        const random = (...name: (string | number)[]) => seededRandom(plan.seed, chain, tool.name, ...name);
        const there = readdress(tool, input, faults, random, context);
        const fault = struckBy(faults, random("call", number).next());
        if (fault) context.onFault?.(fault.kind);
        return fault ? fail(fault, tool, there, context, random("numbers", number)) : tool.execute(there, context);
      },
    };
  });
}

function sharesOf({ share = 1 }: FaultPlan): readonly [number, number] {
  return typeof share === "number" ? [share, share] : share;
}

function checkPlan(plan: FaultPlan): void {
  const { faults, budget } = plan;
  const isShare = (value: number) => value >= 0 && value <= 1;
  for (const { kind, rate } of faults) {
    if (!faultKinds.includes(kind)) throw new UsageError(`no fault "${kind}"; the faults are ${faultKinds.join(", ")}`);
    if (!isShare(rate)) throw new UsageError(`the rate of fault "${kind}" is ${rate}; it must be 0 to 1`);
  }
  const wrong = sharesOf(plan).find((one) => !isShare(one));
  if (wrong !== undefined) throw new UsageError(`the share of chains with faults is ${wrong}; it must be 0 to 1`);
  if (budget !== undefined && !(Number.isInteger(budget) && budget >= 0))
    throw new UsageError(`a budget of calls is a whole number, not ${budget}`);
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

/** One random draw decides among the faults of single calls, so that their rates add up. */
function struckBy(faults: readonly Fault[], draw: number): Fault | undefined {
  let rest = draw;
  return faults.find(({ kind, rate }) => {
    if (kind === "moved") return false;
    rest -= rate;
    return rest < 0;
  });
}

async function fail(
  { kind, text = defaultText[kind], delayMs = 2_000 }: Fault,
  tool: Tool,
  input: unknown,
  context: ToolContext,
  random: SeededRandom,
): Promise<unknown> {
  if (kind === "empty") return text;
  if (kind === "error" || kind === "timeout") throw new ToolError(tool.name, text, { retryable: true });
  if (kind === "slow") await sleep(delayMs, context.signal);
  const output = await tool.execute(input, context);
  return kind === "stale" && typeof output === "string" ? `${text} ${otherNumbers(output, random)}` : output;
}

const newPlace = "/new";

/** The input with the addresses that answer. One that has moved throws and names its new place, which leads to the old page. */
function readdress(
  tool: Tool,
  input: unknown,
  faults: readonly Fault[],
  random: (...name: string[]) => SeededRandom,
  { onFault }: ToolContext,
): unknown {
  const moved = faults.find(({ kind }) => kind === "moved");
  if (!moved) return input;
  const hasMoved = (url: string) => random("moved", url).next() < moved.rate;
  const visit = (value: unknown): unknown => {
    if (typeof value === "string" && /^\s*https?:\/\/\S+\s*$/.test(value)) {
      const url = value.trim();
      const before = url.endsWith(newPlace) ? url.slice(0, -newPlace.length) : null;
      if (before !== null && hasMoved(before)) return before;
      if (hasMoved(url)) {
        onFault?.("moved");
        throw new ToolError(tool.name, `${moved.text ?? defaultText.moved} ${url}${newPlace}`);
      }
      return value;
    }
    if (Array.isArray(value)) return value.map(visit);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, visit(field)]));
  };
  return visit(input);
}

/** The text with the last digit of every separate number changed. Addresses stay as they are. */
function otherNumbers(text: string, random: SeededRandom): string {
  return text.replace(/(?<![\w/.:-])\d+(?![\w/-]|\.\d)/g, (digits) => {
    const last = (Number(digits.at(-1)) + 1 + random.below(9)) % 10;
    return `${digits.slice(0, -1)}${last}`;
  });
}

/**
 * Reads a plan from one line: `web_search:empty=0.4,timeout=0.1,seed=7`. A fault is `kind=rate`, for one tool with its name
 * and a colon before it; `seed`, `share` (`0.5`, or `0.5..0.9` for one that grows) and `budget` are the plan's own.
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
    else if (!tool && (name === "seed" || name === "budget")) plan[name] = Number(number);
    else plan.faults.push({ kind: name as FaultKind, rate: Number(number), ...(tool ? { tools: [tool] } : {}) });
  }
  checkPlan(plan);
  return plan;
}
