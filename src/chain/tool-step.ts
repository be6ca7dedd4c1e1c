/**
 * The tool calls of one turn. All of them run at the same time, each with its own deadline; a failure is an observation
 * like any other; a call that was made before gets the earlier result with a note. The number of calls is checked before
 * each of them, so a limit is never exceeded.
 */
import { isAbort, messageOf } from "../core/errors.ts";
import type { Tool, ToolContext } from "../core/tool.ts";
import type { Segment } from "../core/trajectory.ts";
import { outputText } from "../language/observation.ts";
import type { TagSpec } from "../language/profile.ts";
import { readToolInputs, type ToolInputs } from "../language/tool-input.ts";
import { DeadlineError, withDeadline } from "./deadline.ts";

/** One tool tag of the turn. */
export interface RequestedCall {
  spec: TagSpec;
  body: string;
}

/** A finished call as the journal keeps it. */
export interface ToolOutcome {
  tool: string;
  input: unknown;
  ok: boolean;
  output: string;
  ms: number;
}

/** What the model will read about one tool tag. */
export interface CallReport {
  text: string;
  call: NonNullable<Segment["call"]>;
  executed: number;
}

export interface ToolStepOptions {
  tools: ReadonlyMap<string, Tool>;
  /** Results of this chain so far by `callKey`, and which step made them. */
  earlier: Map<string, { output: string; ok: boolean; step: number }>;
  step: number;
  /** Calls that may still be made. */
  budget: number;
  /** For tools that have no time-out of their own. */
  timeoutMs: number;
  /** Time left for the whole chain. */
  remainingMs: number;
  context: Omit<ToolContext, "signal">;
  signal: AbortSignal | undefined;
  neutralise: (text: string) => string;
  clock: () => number;
  /** A result from before the run was interrupted. */
  recorded: (index: number) => ToolOutcome | undefined;
  /** Called as soon as a call has ended, before anybody sees its result. */
  onOutcome: (index: number, outcome: ToolOutcome) => Promise<void>;
  onCall: ((callId: string, tool: string, input: unknown) => void) | undefined;
  onResult: ((callId: string, outcome: ToolOutcome) => void) | undefined;
}

/** Runs all calls of a turn and reports on each, in the order they were written. */
export async function runToolStep(calls: readonly RequestedCall[], options: ToolStepOptions): Promise<CallReport[]> {
  let started = 0;
  let index = 0;
  const inFlight = new Map<string, Promise<ToolOutcome>>();

  async function runOne(
    tool: Tool,
    input: unknown,
  ): Promise<{ outcome: ToolOutcome; repeated?: number; executed: boolean }> {
    const place = index++;
    const key = callKey(tool.name, input);
    if (!tool.stateful) {
      const before = options.earlier.get(key);
      if (before)
        return {
          outcome: { tool: tool.name, input, ok: before.ok, output: before.output, ms: 0 },
          repeated: before.step,
          executed: false,
        };
      const twin = inFlight.get(key);
      if (twin) return { outcome: await twin, repeated: options.step, executed: false };
    }
    if (started >= options.budget) {
      const output = "error: no tool calls are left; use what is known and answer";
      return { outcome: { tool: tool.name, input, ok: false, output, ms: 0 }, executed: false };
    }
    started++;
    const work = execute(tool, input, place, options);
    inFlight.set(key, work);
    const outcome = await work;
    // A failed call may work the next time, so only results are remembered.
    if (!tool.stateful && outcome.ok)
      options.earlier.set(key, { output: outcome.output, ok: true, step: options.step });
    return { outcome, executed: true };
  }

  async function answer({ spec, body }: RequestedCall, read: ToolInputs | undefined): Promise<CallReport> {
    const tool = options.tools.get(spec.tool ?? spec.name);
    if (!tool || !read?.ok) {
      const problem = read && !read.ok ? `error: ${read.message}` : unknownTool(spec, options.tools);
      const call = { tool: spec.tool ?? spec.name, input: body, ok: false, ms: 0 };
      return { text: options.neutralise(problem), call, executed: 0 };
    }
    const results = await all(read.inputs.map((input) => runOne(tool, input)));
    return report(tool, read.inputs, results);
  }

  // All inputs are read before any call begins, so that calls begin in the order they were written.
  const inputs: (ToolInputs | undefined)[] = [];
  for (const { spec, body } of calls) {
    const tool = options.tools.get(spec.tool ?? spec.name);
    inputs.push(tool && (await readToolInputs(spec, tool, body)));
  }
  return all(calls.map((call, index) => answer(call, inputs[index])));
}

/** `Promise.all`, without its cost in the common case of one. */
async function all<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  return promises.length === 1 ? [await promises[0]!] : Promise.all(promises);
}

function report(
  tool: Tool,
  inputs: readonly unknown[],
  results: { outcome: ToolOutcome; repeated?: number; executed: boolean }[],
): CallReport {
  const texts = results.map(({ outcome, repeated }) =>
    repeated === undefined
      ? outcome.output
      : `(You made this call before, in step ${repeated + 1}; this is the earlier result.)\n${outcome.output}`,
  );
  const single = results.length === 1;
  const repeated = results.every((result) => result.repeated !== undefined);
  return {
    text: single ? texts[0]! : texts.map((text, index) => `[${index + 1}] ${text}`).join("\n\n"),
    call: {
      tool: tool.name,
      input: single ? inputs[0] : inputs,
      ok: results.some((result) => result.outcome.ok),
      ms: Math.max(0, ...results.map((result) => result.outcome.ms)),
      ...(repeated ? { repeated } : {}),
    },
    executed: results.filter((result) => result.executed).length,
  };
}

async function execute(tool: Tool, input: unknown, place: number, options: ToolStepOptions): Promise<ToolOutcome> {
  const recorded = options.recorded(place);
  const callId = `${options.step}:${place}`;
  options.onCall?.(callId, tool.name, input);
  if (recorded) {
    options.onResult?.(callId, recorded);
    return recorded;
  }
  const began = options.clock();
  let ok = true;
  let output: string;
  try {
    const timeoutMs = Math.min(tool.timeoutMs ?? options.timeoutMs, options.remainingMs);
    const result = await withDeadline(options.signal, timeoutMs, (signal) =>
      tool.execute(input, contextFor(options.context, callId, signal)),
    );
    output = options.neutralise(outputText(result));
  } catch (error) {
    if (options.signal?.aborted && (isAbort(error) || error === options.signal.reason)) throw error;
    ok = false;
    const message = messageOf(error);
    const named = message.startsWith(`${tool.name}:`) ? message : `${tool.name}: ${message}`;
    output = options.neutralise(
      `error: ${error instanceof DeadlineError ? `${tool.name} gave ${error.message}` : named}`,
    );
  }
  const outcome = { tool: tool.name, input, ok, output, ms: options.clock() - began };
  await options.onOutcome(place, outcome);
  options.onResult?.(callId, outcome);
  return outcome;
}

/** `abortSignal`, `toolCallId` and `messages` are the names the AI SDK gives to what a tool may want. */
function contextFor(context: ToolStepOptions["context"], toolCallId: string, signal: AbortSignal): ToolContext {
  return { ...context, signal, abortSignal: signal, toolCallId, messages: [] } as ToolContext;
}

function unknownTool(spec: TagSpec, tools: ReadonlyMap<string, Tool>): string {
  const known = [...tools.keys()].join(", ") || "none";
  return `error: there is no tool ${spec.tool ?? spec.name} here. Tools: ${known}.`;
}

/** Equal for calls that ask the same: fields in any order. */
export function callKey(tool: string, input: unknown): string {
  return `${tool} ${stableJson(input)}`;
}

function stableJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.trim());
  if (Array.isArray(value)) return `[${value.map(stableJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => `${JSON.stringify(name)}:${stableJson(field)}`)
      .join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}
