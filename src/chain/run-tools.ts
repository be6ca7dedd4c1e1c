/**
 * The tool calls of one turn. All of them run at the same time, each with its own deadline; a failure is an observation
 * like any other; a call that was made before gets the earlier result with a note. The number of calls is checked before
 * each of them, so a limit is never exceeded. Every call gets its observation, in the order of the calls.
 */

import type { ToolRecord } from "../core/chain-record.ts";
import { isAbort, messageOf } from "../core/errors.ts";
import type { Tool, ToolContext } from "../core/tool.ts";
import type { PendingCall, Segment } from "../core/trajectory.ts";
import { callKey, type ReadCalls, readCallBody } from "../language/call-body.ts";
import { errorText, joinOutputs, neutralFor, outputText } from "../language/observation.ts";
import { type ChainRun, observe, record } from "./chain-run.ts";
import { DeadlineError, withDeadline } from "./deadline.ts";
import type { Moves, RequestedCall } from "./moves.ts";

/** A finished call as the journal keeps it. */
type ToolOutcome = Pick<ToolRecord, "tool" | "input" | "ok" | "output" | "ms" | "answeredBy" | "fault">;

/** One call with where its result came from. */
interface AnsweredCall {
  outcome: ToolOutcome;
  /** The step that made the same call before. */
  repeated?: number;
  executed: boolean;
}

/** What the model will read about one tool tag. */
interface CallReport {
  text: string;
  call: NonNullable<Segment["call"]>;
}

/**
 * Runs the calls and appends what came of them: the tool's result, or why it was refused. Where a call is the client's to
 * make and its result is not there, nothing is run and these calls are returned.
 */
export async function runTools(run: ChainRun, { calls, refused }: Moves): Promise<PendingCall[]> {
  const began = run.now();
  const accepted = await readCalls(
    run,
    calls.filter((_, index) => !refused.has(index)),
  );
  const pending = accepted.flatMap((call) => pendingCalls(run, call));
  for (const { id, tool, input } of pending) run.onEvent?.({ type: "tool-call", callId: id, tool, input });
  if (pending.length > 0) return pending;
  const reports = await answerCalls(run, accepted);
  run.usage.toolMs += run.now() - began;
  for (let index = 0, next = 0; index < calls.length; index++) {
    const problem = refused.get(index);
    if (problem !== undefined) {
      observe(run, problem, "runtime");
      continue;
    }
    const { text, call } = reports[next++]!;
    observe(run, text, "tool", call);
  }
  return [];
}

/** A call with what its body means, where the tool is there and the body could be read. */
interface ReadCall extends RequestedCall {
  tool: Tool | undefined;
  read: ReadCalls | undefined;
}

/** All inputs are read before any call begins, so that calls begin in the order they were written. */
async function readCalls(run: ChainRun, calls: readonly RequestedCall[]): Promise<ReadCall[]> {
  const result: ReadCall[] = [];
  for (const call of calls) {
    const tool = run.tools.get(call.spec.tool ?? call.spec.name);
    result.push({ ...call, tool, read: tool && (await readCallBody(call.spec, tool, call.body)) });
  }
  return result;
}

/** The id under which a client answers the call: the same however often the chain is continued. */
function clientCallId(segment: number, index: number): string {
  return `call_${segment}_${index}`;
}

function pendingCalls(run: ChainRun, { tool, read, segment }: ReadCall): PendingCall[] {
  if (!tool || !run.clientTools.has(tool.name) || !read?.ok) return [];
  if (run.usage.toolCalls >= run.limits.maxToolCalls) return [];
  return read.inputs.flatMap((input, index) => {
    const id = clientCallId(segment, index);
    return run.results[id] ? [] : [{ id, tool: tool.name, input, segment }];
  });
}

const noneLeft = "error: no tool calls are left; answer with what is known";

async function answerCalls(run: ChainRun, calls: readonly ReadCall[]): Promise<CallReport[]> {
  const { usage, limits, tools } = run;
  const step = usage.modelCalls - 1;
  let place = 0;
  const inFlight = new Map<string, Promise<ToolOutcome>>();

  async function callOnce(tool: Tool, input: unknown): Promise<AnsweredCall> {
    const index = place++;
    const key = callKey(tool.name, input);
    if (!tool.stateful) {
      const before = run.earlier.get(key);
      if (before) {
        const outcome = { tool: tool.name, input, ok: before.ok, output: before.output, ms: 0 };
        return { outcome, repeated: before.step, executed: false };
      }
      const twin = inFlight.get(key);
      if (twin) return { outcome: await twin, repeated: step, executed: false };
    }
    if (usage.toolCalls >= limits.maxToolCalls) {
      return { outcome: { tool: tool.name, input, ok: false, output: noneLeft, ms: 0 }, executed: false };
    }
    usage.toolCalls++;
    const work = execute(run, tool, input, step, index);
    inFlight.set(key, work);
    const outcome = await work;
    // A failed call may work the next time, so only results are remembered.
    if (!tool.stateful && outcome.ok) run.earlier.set(key, { output: outcome.output, ok: true, step });
    return { outcome, executed: true };
  }

  async function answer({ spec, body, tool, read, segment }: ReadCall): Promise<CallReport> {
    const name = spec.tool ?? spec.name;
    if (!tool || !read?.ok) {
      const known = [...tools.keys()].join(", ") || "none";
      const problem = read && !read.ok ? read.message : `there is no tool ${name} here. Tools: ${known}.`;
      return { text: `error: ${problem}`, call: { tool: name, input: body, ok: false, ms: 0 } };
    }
    if (run.clientTools.has(name)) return clientReport(run, tool, read.inputs, segment);
    const results = await all(read.inputs.map((input) => callOnce(tool, input)));
    return report(tool, read.inputs, results);
  }

  return all(calls.map(answer));
}

/** What the client gave back, as the tools' results are shown. */
function clientReport(run: ChainRun, tool: Tool, inputs: readonly unknown[], segment: number): CallReport {
  const results = inputs.map((input, index): AnsweredCall => {
    const callId = clientCallId(segment, index);
    const result = run.results[callId];
    if (!result) return { outcome: { tool: tool.name, input, ok: false, output: noneLeft, ms: 0 }, executed: false };
    const { output, failed = false } = result;
    const text = failed ? errorText(tool.name, outputText(output)) : outputText(output);
    const shown = neutralFor(run.profile, run.model)(text);
    run.usage.toolCalls++;
    run.onEvent?.({ type: "tool-result", callId, tool: tool.name, ok: !failed, output: shown, ms: 0 });
    return { outcome: { tool: tool.name, input, ok: !failed, output: shown, ms: 0 }, executed: true };
  });
  const { text, call } = report(tool, inputs, results);
  return { text, call: { id: clientCallId(segment, 0), ...call, answeredBy: "client" } };
}

/** `Promise.all`, without its cost in the common case of one. */
async function all<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  return promises.length === 1 ? [await promises[0]!] : Promise.all(promises);
}

function report(tool: Tool, inputs: readonly unknown[], results: readonly AnsweredCall[]): CallReport {
  const texts = results.map(({ outcome, repeated }) =>
    repeated === undefined
      ? outcome.output
      : `(You made this call before, in step ${repeated + 1}; this is the earlier result.)\n${outcome.output}`,
  );
  const sources = results.map((result) => result.outcome.answeredBy);
  const answeredBy = sources.find((source) => source === "not-recorded") ?? sources[0];
  const fault = results.find((result) => result.outcome.fault)?.outcome.fault;
  return {
    text: joinOutputs(texts),
    call: {
      tool: tool.name,
      input: results.length === 1 ? inputs[0] : inputs,
      ok: results.some((result) => result.outcome.ok),
      ms: Math.max(0, ...results.map((result) => result.outcome.ms)),
      ...(results.every((result) => result.repeated !== undefined) ? { repeated: true } : {}),
      ...(answeredBy ? { answeredBy } : {}),
      ...(fault ? { fault } : {}),
    },
  };
}

async function execute(run: ChainRun, tool: Tool, input: unknown, step: number, index: number): Promise<ToolOutcome> {
  const { limits, signal } = run;
  const recorded = run.replay.tools.get(`${step}:${index}`);
  const callId = `${step}:${index}`;
  run.onEvent?.({ type: "tool-call", callId, tool: tool.name, input });
  let outcome: ToolOutcome | undefined = recorded;
  if (!outcome) {
    const began = run.now();
    const remainingMs = Math.max(1, limits.maxWallMs - run.elapsedMs());
    const timeoutMs = Math.min(tool.timeoutMs ?? limits.toolTimeoutMs, remainingMs);
    let ok = true;
    let output: string;
    let fault: string | undefined;
    const answeredBy = tool.recorded && (tool.recorded(input) ? "recording" : "not-recorded");
    try {
      output = outputText(
        await withDeadline(signal, timeoutMs, (own) =>
          tool.execute(input, { ...contextFor(run, callId, own), onFault: (kind) => (fault = kind) }),
        ),
      );
    } catch (error) {
      if (signal?.aborted && (isAbort(error) || error === signal.reason)) throw error;
      ok = false;
      const late = error instanceof DeadlineError;
      output = late ? `error: ${tool.name} gave ${error.message}` : errorText(tool.name, messageOf(error));
    }
    const ms = run.now() - began;
    outcome = {
      tool: tool.name,
      input,
      ok,
      output: neutralFor(run.profile, run.model)(output),
      ms,
      ...(answeredBy && { answeredBy }),
      ...(fault && { fault }),
    };
    await record(run, { type: "tool", call: step, index, ...outcome });
  }
  const { ok, output, ms } = outcome;
  run.onEvent?.({ type: "tool-result", callId, tool: tool.name, ok, output, ms });
  return outcome;
}

/** `abortSignal`, `toolCallId` and `messages` are the names the AI SDK gives to what a tool may want. */
function contextFor({ id, task, context, profile }: ChainRun, toolCallId: string, signal: AbortSignal): ToolContext {
  return {
    trajectoryId: id,
    taskId: task.id,
    question: task.question,
    thought: context.segments.findLast((segment) => segment.tag === profile.think)?.text,
    signal,
    abortSignal: signal,
    toolCallId,
    messages: [],
  } as ToolContext;
}
