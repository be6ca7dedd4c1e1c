/**
 * Chains as OpenAI responses. Roles are reasoning items with summary parts, one part to a segment: the one shape that all
 * clients show and none rejects. Executed tools are `mcp_call` items where the request asked for hosted tools, and
 * further summary parts otherwise; function calls are those of the client's own tools alone. The whole response is the
 * state after the last event, so streamed and whole can't differ.
 */
import type { Json } from "../../core/json-value.ts";
import type { ClientCall } from "../client-tools.ts";
import { type ServedEvent, untold } from "../served-events.ts";
import { servedUsage } from "./served-usage.ts";

export interface ResponsesProjectionOptions {
  id: string;
  model: string;
  /** Seconds since 1970. */
  created: number;
  /** What the request set, echoed as the API does. */
  echo: Json;
  /** Show executed tools as items of their own. */
  hostedTools?: boolean;
  /** Whether a role is the call of a tool. */
  isTool: (role: string) => boolean;
  /** The encrypted content of reasoning, where the client asked for it. */
  encrypted?: string;
}

/** Projects a chain event by event. */
export interface ResponsesProjection {
  /** The events with which a stream begins. */
  begin(): Json[];
  add(event: ServedEvent): Json[];
  /** The end of a chain that failed. */
  fail(code: string, message: string): Json[];
  /** The response so far. */
  response(): Json;
}

interface OpenPart {
  item: Json & { id: string; summary: Json[] };
  index: number;
  part: number;
  text: string;
}

/** A projection in its first state. */
export function responsesProjection(options: ResponsesProjectionOptions): ResponsesProjection {
  const key = options.id.replace(/^resp_/, "");
  const output: Json[] = [];
  let sequence = 0;
  let reasoning: { item: OpenPart["item"]; index: number } | undefined;
  let open: OpenPart | undefined;
  let answer: { common: Json; place: { item_id: string; output_index: number; content_index: number }; text: string } | undefined; // biome-ignore format: one place
  let state: Json = { status: "in_progress", completed_at: null, error: null, incomplete_details: null, usage: null };
  const response = (): Json => ({ ...emptyResponse(options), ...state, output: [...output] });
  const event = (type: string, fields: Json): Json => ({ type, sequence_number: sequence++, ...fields });

  function addItem(item: Json): { index: number; events: Json[] } {
    const index = output.push(item) - 1;
    return {
      index,
      events: [event("response.output_item.added", { output_index: index, item: structuredClone(item) })],
    };
  }
  const itemDone = (index: number): Json =>
    event("response.output_item.done", { output_index: index, item: output[index] });

  function openPart(title: string): Json[] {
    const events = closePart();
    if (!reasoning) events.push(...openReasoning());
    const { item, index } = reasoning!;
    const part = item.summary.length;
    open = { item, index, part, text: "" };
    item.summary.push({ type: "summary_text", text: "" });
    events.push(
      event("response.reasoning_summary_part.added", {
        item_id: item.id,
        output_index: index,
        summary_index: part,
        part: { type: "summary_text", text: "" },
      }),
    );
    return [...events, ...write(`**${title}**\n`)];
  }
  function write(delta: string): Json[] {
    if (!open || delta === "") return [];
    open.text += delta;
    const { item, index, part } = open;
    const place = { item_id: item.id, output_index: index, summary_index: part };
    return [event("response.reasoning_summary_text.delta", { ...place, delta })];
  }
  function closePart(): Json[] {
    if (!open) return [];
    const { item, index, part, text } = open;
    open = undefined;
    item.summary[part] = { type: "summary_text", text };
    const place = { item_id: item.id, output_index: index, summary_index: part };
    return [
      event("response.reasoning_summary_text.done", { ...place, text }),
      event("response.reasoning_summary_part.done", { ...place, part: item.summary[part] }),
    ];
  }
  function closeReasoning(encrypted = options.encrypted): Json[] {
    const events = closePart();
    if (reasoning) {
      if (encrypted !== undefined) reasoning.item["encrypted_content"] = encrypted;
      events.push(itemDone(reasoning.index));
    }
    reasoning = undefined;
    return events;
  }
  function openReasoning(): Json[] {
    const item = { id: `rs_${key}_${output.length}`, type: "reasoning", summary: [] as Json[] };
    const added = addItem(item);
    reasoning = { item, index: added.index };
    return added.events;
  }
  function clientCalls(calls: readonly ClientCall[], state: string | undefined): Json[] {
    // The state is sent with reasoning; a chain that wrote none gets an empty item for it.
    const events = reasoning || state === undefined ? [] : openReasoning();
    events.push(...closeReasoning(state));
    for (const { id: call, tool: name, input } of calls) {
      const text = JSON.stringify(input);
      const item = { id: `fc_${key}_${output.length}`, type: "function_call", call_id: `call_${call}`, name };
      const { index, events: added } = addItem({ ...item, arguments: "", status: "in_progress" });
      const place = { item_id: item.id, output_index: index };
      output[index] = { ...item, arguments: text, status: "completed" };
      events.push(
        ...added,
        event("response.function_call_arguments.delta", { ...place, delta: text }),
        event("response.function_call_arguments.done", { ...place, name, arguments: text }),
        itemDone(index),
      );
    }
    return events;
  }
  function hostedCall(call: Extract<ServedEvent, { type: "tool" }>): Json[] {
    const events = closeReasoning();
    const text = JSON.stringify(call.input ?? {});
    const item = { id: `mcp_${key}_${output.length}`, type: "mcp_call", server_label: "coa", name: call.tool };
    const { index, events: added } = addItem({
      ...item,
      arguments: "",
      status: "in_progress",
      output: null,
      error: null,
    });
    const place = { item_id: item.id, output_index: index };
    output[index] = {
      ...item,
      arguments: text,
      status: call.ok ? "completed" : "failed",
      output: call.ok ? call.output : null,
      error: call.ok ? null : call.output,
      approval_request_id: null,
    };
    return [
      ...events,
      ...added,
      event("response.mcp_call.in_progress", place),
      event("response.mcp_call_arguments.delta", { ...place, delta: text }),
      event("response.mcp_call_arguments.done", { ...place, arguments: text }),
      event(call.ok ? "response.mcp_call.completed" : "response.mcp_call.failed", place),
      itemDone(index),
    ];
  }
  function answerDelta(delta: string): Json[] {
    if (delta === "") return [];
    const events: Json[] = [];
    if (!answer) {
      events.push(...closeReasoning());
      const common = { id: `msg_${key}_${output.length}`, type: "message", role: "assistant", phase: "final_answer" };
      const added = addItem({ ...common, status: "in_progress", content: [] });
      answer = { common, place: { item_id: common.id, output_index: added.index, content_index: 0 }, text: "" };
      events.push(...added.events);
      events.push(event("response.content_part.added", { ...answer.place, part: textPart("") }));
    }
    answer.text += delta;
    output[answer.place.output_index] = { ...answer.common, status: "in_progress", content: [textPart(answer.text)] };
    return [...events, event("response.output_text.delta", { ...answer.place, delta, logprobs: [] })];
  }
  function closeAnswer(status: "completed" | "incomplete"): Json[] {
    if (!answer) return [];
    const { common, place, text } = answer;
    answer = undefined;
    output[place.output_index] = { ...common, status, content: [textPart(text)] };
    return [
      event("response.output_text.done", { ...place, text, logprobs: [] }),
      event("response.content_part.done", { ...place, part: textPart(text) }),
      itemDone(place.output_index),
    ];
  }
  function finish(end: Extract<ServedEvent, { type: "end" }>): Json[] {
    const events = [...closeReasoning(), ...closeAnswer("incomplete")];
    const cut = end.trajectory.ending.reason === "limit";
    state = {
      ...state,
      status: cut ? "incomplete" : "completed",
      completed_at: cut ? null : Math.floor(Date.now() / 1000),
      incomplete_details: cut ? { reason: "max_output_tokens" } : null,
      usage: responsesUsage(end),
    };
    return [...events, event(cut ? "response.incomplete" : "response.completed", { response: response() })];
  }

  return {
    response,
    begin: () => [
      event("response.created", { response: response() }),
      event("response.in_progress", { response: response() }),
    ],
    add(served) {
      switch (served.type) {
        case "role-start":
          return options.hostedTools && options.isTool(served.role) ? [] : openPart(served.role);
        case "role-delta":
          return write(served.text);
        case "role-end":
          return closePart();
        case "tool": {
          if (options.hostedTools) return hostedCall(served);
          return [...openPart("observation"), ...write(firstLine(served.output)), ...closePart()];
        }
        case "answer-delta":
          return answerDelta(served.text);
        case "answer":
          return [...answerDelta(untold(served.text, answer?.text ?? "")), ...closeAnswer("completed")];
        case "client-calls":
          return clientCalls(served.calls, served.state);
        case "end":
          return finish(served);
      }
    },
    fail(code, message) {
      const events = [...closeReasoning(), ...closeAnswer("incomplete")];
      state = { ...state, status: "failed", error: { code, message } };
      const error = event("error", { code, message, param: null });
      return [...events, error, event("response.failed", { response: response() })];
    },
  };
}

const textPart = (text: string): Json => ({ type: "output_text", text, annotations: [], logprobs: [] });

function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.length > 200 ? `${line.slice(0, 197)}...` : line;
}

/** Every field that the specification demands, null where empty. */
function emptyResponse({ id, model, created, echo }: ResponsesProjectionOptions): Json {
  return {
    id,
    object: "response",
    created_at: created,
    model,
    previous_response_id: null,
    instructions: null,
    tools: [],
    tool_choice: "auto",
    truncation: "disabled",
    parallel_tool_calls: true,
    text: { format: { type: "text" } },
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    temperature: 0,
    reasoning: null,
    max_output_tokens: null,
    max_tool_calls: null,
    store: true,
    background: false,
    service_tier: "default",
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    ...echo,
  };
}

function responsesUsage(end: Extract<ServedEvent, { type: "end" }>): Json {
  const { prompt, completion, cached, reasoning } = servedUsage(end);
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: prompt + completion,
  };
}
