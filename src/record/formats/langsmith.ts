/** LangSmith runs, as its clients post them and as it exports them: posts and patches of one run are put together first. */

import { cutText } from "../../base/text/cut-text.ts";
import { readTools } from "../../base/wire/openai-chat.ts";
import { CoaError } from "../../core/errors.ts";
import { asArray, asNumber, asObject, asString } from "../../core/json-value.ts";
import { plainSpan, type TraceSpan, toolOf } from "../trace-span.ts";
import {
  isAgentChain,
  langChainLosses,
  markGraphAgents,
  readLangChainInput,
  readLangChainOutput,
  readLangChainToolOutput,
} from "./langchain.ts";

type Json = Record<string, unknown>;

/** The runs of a payload: `{post, patch}`, a list, `{runs}`, or one run. */
export function readLangSmithRuns(payload: unknown): Json[] {
  const body = asObject(payload);
  const lists = [body?.["post"], body?.["patch"], body?.["runs"], Array.isArray(payload) ? payload : undefined];
  for (const list of lists) {
    if (list !== undefined && list !== null && !Array.isArray(list)) throw bad("post, patch or runs is not an array");
  }
  const found = lists.flatMap((list) => asArray(list));
  if (found.length === 0 && body && body["run_type"] !== undefined) found.push(body);
  return found.map((item) => {
    const run = asObject(item);
    if (!run || !asString(run["id"])) throw bad("a run has no id");
    return run;
  });
}

/** All runs, later parts of a run over earlier ones. */
function mergeLangSmithRuns(runs: readonly Json[]): Json[] {
  const byId = new Map<string, Json>();
  for (const run of runs) {
    const id = run["id"] as string;
    const known = byId.get(id) ?? Object.create(null);
    for (const [key, value] of Object.entries(run)) if (value !== null && value !== undefined) known[key] = value;
    byId.set(id, known);
  }
  return [...byId.values()];
}

export function langSmithToSpans(given: readonly Json[]): TraceSpan[] {
  const runs = mergeLangSmithRuns(given);
  const spans = runs.map((run): TraceSpan => {
    const extra = asObject(run["extra"]) ?? {};
    const metadata = asObject(extra["metadata"]) ?? {};
    const name = asString(run["name"]) ?? "";
    const id = run["id"] as string;
    const base = plainSpan({
      ...{ id, traceId: asString(run["trace_id"]) ?? id, name, parentId: asString(run["parent_run_id"]) },
      ...{ startedAt: timeOf(run["start_time"]), endedAt: timeOf(run["end_time"]) },
      error: asString(run["error"])?.slice(0, 2000) || undefined,
      session: metadata["session_id"] ?? metadata["thread_id"] ?? metadata["conversation_id"],
      ...feedbackOf(run["feedback_stats"]),
    });
    if (run["run_type"] === "llm")
      return { ...base, kind: "model", call: llmCall(run, extra, metadata), ...cutOf(run) };
    if (run["run_type"] === "tool") {
      const { callId, result, error: failed } = readLangChainToolOutput(run["outputs"]);
      const inputs = asObject(run["inputs"]) ?? {};
      const only = asString(inputs["input"]);
      const given = only !== undefined && Object.keys(inputs).length === 1 ? only : JSON.stringify(inputs);
      const tool = toolOf(name, callId, given, result);
      return { ...base, kind: "tool", tool, ...(failed !== undefined && { error: failed }), ...cutOf(run) };
    }
    if (run["run_type"] === "chain" && isAgentChain(name, metadata)) return { ...base, kind: "agent", agent: { name } };
    return base;
  });
  const byId = new Map(runs.map((run) => [run["id"], asObject(asObject(run["extra"])?.["metadata"]) ?? {}]));
  markGraphAgents(spans, ({ id }) => byId.get(id) ?? {});
  return spans;
}

/** Feedback as an export sums it up: its mean under each key. */
function feedbackOf(stats: unknown): Pick<TraceSpan, "feedback"> {
  const feedback = Object.entries(asObject(stats) ?? {}).flatMap(([name, value]) => {
    const score = asNumber(asObject(value)?.["avg"]);
    return score === undefined ? [] : [{ name, score }];
  });
  return feedback.length > 0 ? { feedback } : {};
}

function llmCall(run: Json, extra: Json, metadata: Json): NonNullable<TraceSpan["call"]> {
  const parameters = asObject(extra["invocation_params"]) ?? {};
  const reply = readLangChainOutput(run["outputs"]) ?? { text: "", toolCalls: [] };
  return {
    ...reply,
    ...langChainLosses(run["inputs"]),
    messages: readLangChainInput(run["inputs"]),
    tools: readTools(parameters["tools"]),
    model: asString(parameters["model"]) ?? asString(metadata["ls_model_name"]),
    promptTokens: reply.promptTokens || (asNumber(run["prompt_tokens"]) ?? 0),
    completionTokens: reply.completionTokens || (asNumber(run["completion_tokens"]) ?? 0),
  };
}

function cutOf(run: Json): { cut?: string } {
  for (const key of ["inputs", "outputs"]) {
    const why = typeof run[key] === "string" ? cutText(run[key], true) : undefined;
    if (why) return { cut: `${asString(run["name"])}: ${key} ${why}` };
  }
  return {};
}

/** ISO text (LangSmith leaves the zone out), or milliseconds. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  const time = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(value) ? value : `${value}Z`);
  return Number.isNaN(time) ? undefined : time;
}

function bad(what: string): CoaError {
  return new CoaError("record", `not LangSmith runs: ${what}`);
}
