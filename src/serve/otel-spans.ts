/**
 * A served chain as OpenTelemetry spans of the GenAI conventions: `invoke_agent` around the chain, `chat` for each turn of the
 * model, `execute_tool` for each call. Content is left out unless asked for; with it, a collector of ours reads the spans
 * back as the run they came from.
 */

import { createHash } from "node:crypto";
import type { Json } from "../core/json-value.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";

/** The conventions that the names below are of. */
const schemaUrl = "https://opentelemetry.io/schemas/1.38.0";

export interface SpanOptions {
  /** Put questions, answers, arguments and results into the spans. */
  content?: boolean;
  /** Name of the agent and the service. */
  name?: string;
}

interface Turn {
  said: Segment[];
  results: Segment[];
}

/** An export of one chain, as OTLP/JSON. */
export function chainSpans(trajectory: Trajectory, options: SpanOptions = {}): Json {
  const { name = "chain-of-agents", content = false } = options;
  const began = trajectory.startedAt ?? Date.now() - trajectory.usage.wallMs;
  const ids = idsOf(trajectory.id);
  const root = ids.span("chain");
  const { usage, ending } = trajectory;
  const at = (ms: number | undefined) => String(BigInt(Math.round((began + (ms ?? 0)) * 1000)) * 1000n);
  const span = (id: string, title: string, from: Segment[], attributes: Json, error?: string): Json => ({
    traceId: ids.trace,
    spanId: id,
    parentSpanId: root,
    name: title,
    kind: 3,
    startTimeUnixNano: at(from[0]?.startedAt),
    endTimeUnixNano: at(from.at(-1)?.endedAt ?? from[0]?.startedAt),
    attributes: attributesOf(attributes),
    status: error === undefined ? {} : { code: 2, message: error },
  });
  const turns = turnsOf(trajectory.segments);
  const conversation: Json[] = trajectory.prompt.map(({ role, content: text }) => ({ role, parts: [textPart(text)] }));
  const spans: Json[] = [];
  for (const [index, { said, results }] of turns.entries()) {
    const calls = results.map((result, place) => callOf(result, `${ids.trace.slice(0, 8)}-${index}-${place}`));
    const reply = replyOf(said, calls, trajectory);
    spans.push(
      span(ids.span(`turn ${index}`), `chat ${trajectory.model}`, said, {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": name,
        "gen_ai.request.model": trajectory.model,
        "gen_ai.response.id": `${trajectory.id}-${index}`,
        ...usageOf(said),
        ...(content && {
          "gen_ai.input.messages": JSON.stringify(conversation),
          "gen_ai.output.messages": JSON.stringify([
            { ...reply, finish_reason: calls.length > 0 ? "tool_call" : "stop" },
          ]),
        }),
      }),
    );
    conversation.push(reply);
    for (const [place, result] of results.entries()) {
      const call = calls[place]!;
      const failed = result.call?.ok === false ? "the tool failed" : undefined;
      spans.push(
        span(
          ids.span(`call ${index} ${place}`),
          `execute_tool ${call.name}`,
          [result],
          {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            ...(content && {
              "gen_ai.tool.call.arguments": JSON.stringify(call.arguments),
              "gen_ai.tool.call.result": result.text,
            }),
          },
          failed,
        ),
      );
      conversation.push({ role: "tool", parts: [{ type: "tool_call_response", id: call.id, response: result.text }] });
    }
  }
  const whole: Json = {
    traceId: ids.trace,
    spanId: root,
    name: `invoke_agent ${name}`,
    kind: 2,
    startTimeUnixNano: at(0),
    endTimeUnixNano: at(usage.wallMs),
    attributes: attributesOf({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": name,
      "gen_ai.agent.id": trajectory.profile,
      "gen_ai.request.model": trajectory.model,
      "gen_ai.usage.input_tokens": usage.promptTokens,
      "gen_ai.usage.output_tokens": usage.completionTokens,
      "coa.trajectory.id": trajectory.id,
      "coa.ending": ending.reason,
    }),
    status: ending.reason === "error" ? { code: 2, message: ending.detail ?? "" } : {},
  };
  const resource = { attributes: attributesOf({ "service.name": name }) };
  const scopeSpans = [{ scope: { name: "chain-of-agents" }, schemaUrl, spans: [whole, ...spans] }];
  return { resourceSpans: [{ resource, schemaUrl, scopeSpans }] };
}

/** What the model wrote up to a call, and what came back; a model's call is a turn of its own. */
function turnsOf(segments: readonly Segment[]): Turn[] {
  const turns: Turn[] = [];
  for (const segment of segments) {
    const last = turns.at(-1);
    if (segment.by === "model") {
      if (last && last.results.length === 0) last.said.push(segment);
      else turns.push({ said: [segment], results: [] });
    } else if (segment.call && last) last.results.push(segment);
  }
  return turns;
}

interface SpanCall {
  id: string;
  name: string;
  arguments: unknown;
}

function callOf({ call }: Segment, id: string): SpanCall {
  return { id, name: call?.tool ?? "tool", arguments: call?.input ?? {} };
}

/** Roles are reasoning, the answer is text, calls are calls. */
function replyOf(said: readonly Segment[], calls: readonly SpanCall[], { answer }: Trajectory): Json {
  const last = said.at(-1);
  const answers = calls.length === 0 && answer !== null && last?.text.trim() === answer ? last : undefined;
  const called = calls.length > 0 ? new Set(calls.map(({ name }) => name)) : new Set<string>();
  const roles = said.filter((segment) => segment !== answers && !called.has(segment.tag));
  const parts: Json[] = roles.map(({ tag, text }) => ({ type: "reasoning", content: `${tag}: ${text}\n` }));
  if (answers) parts.push(textPart(answer!));
  for (const call of calls) parts.push({ type: "tool_call", id: call.id, name: call.name, arguments: call.arguments });
  return { role: "assistant", parts };
}

function textPart(content: string): Json {
  return { type: "text", content };
}

/** Tokens of one turn, where the model works on tokens. */
function usageOf(said: readonly Segment[]): Json {
  const tokens = said.reduce((sum, { tokens: ids }) => sum + (ids?.length ?? 0), 0);
  return tokens === 0 ? {} : { "gen_ai.usage.output_tokens": tokens };
}

function attributesOf(values: Json): Json[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: String(value) },
  }));
}

/** Ids that follow from the trajectory's, so that sending it twice makes one trace. */
function idsOf(id: string): { trace: string; span(part: string): string } {
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  return { trace: hash(id).slice(0, 32), span: (part) => hash(`${id} ${part}`).slice(0, 16) };
}
