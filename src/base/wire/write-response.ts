/**
 * Writes a reply of OpenAI's Responses API. Reasoning is an item with summary parts, one to a section: the one shape that
 * all clients show and none rejects. Tools that the server ran are `mcp_call` items, calls for the client are
 * `function_call` items. Only the last item can be open, and of it the last part.
 */
import { asText, type Json, objectsOf } from "../../core/json-value.ts";
import { writeUsage } from "./reply-facts.ts";
import type { ReplyFacts, ReplyWriter } from "./reply-writer.ts";

/** A writer that can also end a response which failed. */
export interface ResponseWriter extends ReplyWriter {
  fail(code: string, message: string): unknown[];
}

/** The items that are written piece by piece: where their parts are, and the names of their events. */
const growing = {
  reasoning: {
    item: { type: "reasoning" },
    id: "rs",
    parts: "summary",
    place: "summary_index",
    part: "reasoning_summary_part",
    text: "reasoning_summary_text",
    logprobs: {},
  },
  message: {
    item: { type: "message", role: "assistant", phase: "final_answer", status: "in_progress" },
    id: "msg",
    parts: "content",
    place: "content_index",
    part: "content_part",
    text: "output_text",
    logprobs: { logprobs: [] },
  },
} as const;

const partOf = (kind: keyof typeof growing, text: string): Json =>
  kind === "message" ? { type: "output_text", text, annotations: [], logprobs: [] } : { type: "summary_text", text };

export function responseWriter(facts: ReplyFacts): ResponseWriter {
  const output: Json[] = [];
  let sequence = 0;
  let open: keyof typeof growing | undefined;
  let partText: string | undefined;
  let state: Json = { status: "in_progress", completed_at: null, error: null, incomplete_details: null, usage: null };
  const { responseId = "", model = "", created = 0 } = facts;
  const key = responseId.replace(/^resp_/, "");
  const head = { id: responseId, object: "response", created_at: created, model, ...repeat(facts.request) };
  const response = (): Json => ({ ...head, ...state, output: [...output] });
  const event = (type: string, fields: Json): Json => ({ type, sequence_number: sequence++, ...fields });
  const place = () => ({ item_id: asText(output.at(-1)?.["id"]), output_index: output.length - 1 });

  function addItem(prefix: string, item: Json): Json {
    output.push({ id: `${prefix}_${key}_${output.length}`, ...item });
    return event("response.output_item.added", {
      output_index: output.length - 1,
      item: structuredClone(output.at(-1)),
    });
  }
  const itemDone = (): Json =>
    event("response.output_item.done", { output_index: output.length - 1, item: output.at(-1) });

  function openItem(kind: keyof typeof growing): Json[] {
    if (open === kind) return [];
    const closed = close();
    const { item, id, parts } = growing[kind];
    open = kind;
    return [...closed, addItem(id, { ...item, [parts]: [] })];
  }
  function grow(kind: keyof typeof growing, delta: string, begins = false): Json[] {
    const { parts, place: index, part, text, logprobs } = growing[kind];
    const events = openItem(kind);
    if (begins) events.push(...closePart());
    const all = objectsOf(output.at(-1)?.[parts]);
    if (partText === undefined) {
      partText = "";
      all.push(partOf(kind, ""));
      const at = { ...place(), [index]: all.length - 1 };
      events.push(event(`response.${part}.added`, { ...at, part: partOf(kind, "") }));
    }
    partText += delta;
    all[all.length - 1] = partOf(kind, partText);
    output.at(-1)![parts] = all;
    if (delta === "") return events;
    const at = { ...place(), [index]: all.length - 1 };
    return [...events, event(`response.${text}.delta`, { ...at, delta, ...logprobs })];
  }
  function closePart(): Json[] {
    if (!open || partText === undefined) return [];
    const { parts, place: index, part, text, logprobs } = growing[open];
    const at = { ...place(), [index]: objectsOf(output.at(-1)?.[parts]).length - 1 };
    const said = partText;
    partText = undefined;
    return [
      event(`response.${text}.done`, { ...at, text: said, ...logprobs }),
      event(`response.${part}.done`, { ...at, part: partOf(open, said) }),
    ];
  }
  function close({ status = "completed", sealed = facts.sealed } = {}): Json[] {
    if (!open) return [];
    const events = closePart();
    const item = output.at(-1)!;
    if (open === "message") item["status"] = status;
    else if (sealed !== undefined) item["encrypted_content"] = sealed;
    open = undefined;
    return [...events, itemDone()];
  }

  /** A call is written whole: begun without arguments, then with them. */
  function call(prefix: string, item: Json & { type: string }, text: string, finished: Json): Json[] {
    const closed = close();
    const added = addItem(prefix, { ...item, arguments: "", status: "in_progress" });
    const at = place();
    output[at.output_index] = { id: at.item_id, ...item, arguments: text, ...finished };
    const hosted = item.type === "mcp_call";
    return [
      ...closed,
      added,
      ...(hosted ? [event("response.mcp_call.in_progress", at)] : []),
      event(`response.${item.type}_arguments.delta`, { ...at, delta: text }),
      event(`response.${item.type}_arguments.done`, { ...at, ...(!hosted && { name: item["name"] }), arguments: text }),
      ...(hosted ? [event(`response.mcp_call.${asText(finished["status"])}`, at)] : []),
      itemDone(),
    ];
  }

  return {
    whole: response,
    begin: () => [
      event("response.created", { response: response() }),
      event("response.in_progress", { response: response() }),
    ],
    add(part) {
      switch (part.type) {
        case "reasoning":
          return grow("reasoning", part.text, part.begins);
        case "text":
          return grow("message", part.text);
        case "state":
          // The state is sent with reasoning; a reply without any gets an empty item for it.
          return [...openItem("reasoning"), ...close({ sealed: part.state })];
        case "call": {
          const { id, name, arguments: text } = part.call;
          return call("fc", { type: "function_call", call_id: id, name }, text, { status: "completed" });
        }
        case "hosted": {
          const { name, arguments: text, result = null, failed } = part.call;
          const item = { type: "mcp_call", server_label: "coa", name, output: null, error: null };
          const said = failed ? { status: "failed", error: result } : { status: "completed", output: result };
          return call("mcp", item, text, { ...said, approval_request_id: null });
        }
      }
    },
    end({ finish, usage }) {
      const cut = finish === "length" || finish === "refusal";
      const events = close({ status: cut ? "incomplete" : "completed" });
      state = {
        ...state,
        status: cut ? "incomplete" : "completed",
        completed_at: cut ? null : Math.floor(Date.now() / 1000),
        incomplete_details: cut ? { reason: finish === "length" ? "max_output_tokens" : "content_filter" } : null,
        usage: usage ? writeUsage(usage, ["input", "output"]) : null,
      };
      return [...events, event(`response.${asText(state["status"])}`, { response: response() }), "[DONE]"];
    },
    fail(code, message) {
      const events = close({ status: "incomplete" });
      state = { ...state, status: "failed", error: { code, message } };
      const error = event("error", { code, message, param: null });
      return [...events, error, event("response.failed", { response: response() }), "[DONE]"];
    },
  };
}

/** Every field that the specification demands besides, with its value where a request sets none. */
const repeated: Json = {
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
};

/** What a request sets, as the API repeats it. */
function repeat(request: Json = {}): Json {
  const set = Object.entries(request).filter(
    ([name, value]) => name in repeated && value !== undefined && value !== null,
  );
  const all = { ...repeated, ...Object.fromEntries(set) };
  // Every field of a function is demanded too.
  const tools = objectsOf(all["tools"]).map((tool) =>
    tool["type"] === "function" ? { description: null, parameters: null, strict: null, ...tool } : tool,
  );
  return { ...all, tools };
}
