/** Anthropic's Messages API: a message is a list of blocks, tool results are blocks of the user's next message. */

import type { Json } from "../../core/json-value.ts";
import { asNumber, asObject, asString, asText, defined, objectsOf, parseJson } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import { readStop, readTools } from "./openai-chat.ts";
import type { HostedCall, ReplyReader, WireApi, WireFinish, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";

/** Why a model of Anthropic stopped, directly or behind Bedrock. */
export const stopReasons: Record<string, WireFinish> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "refusal",
  guardrail_intervened: "refusal",
  content_filtered: "refusal",
};

function blocksOf(content: unknown): Json[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
}

/** Blocks of text joined; anything else named in brackets. */
function blockText(content: unknown): string {
  return blocksOf(content)
    .map((block) => asString(block["text"]) ?? asString(block["content"]) ?? `[${asText(block["type"])}]`)
    .join("");
}

function isMedia(block: Json): boolean {
  return /^(?:image|document|file|container_upload)/.test(asText(block["type"]));
}

/** What the blocks of one assistant message say; a tool that the server ran comes with its result. */
function readBlocks(blocks: readonly Json[]) {
  const read = {
    text: "",
    reasoning: "",
    toolCalls: [] as Message["toolCalls"] & object,
    hosted: [] as HostedCall[],
    /** The model read pages that the client gets encrypted. */
    sealed: false,
  };
  for (const block of blocks) {
    const type = asText(block["type"]);
    const call = { id: asText(block["id"]), name: asText(block["name"]), arguments: inputText(block["input"]) };
    if (type === "text") read.text += asText(block["text"]);
    else if (type === "thinking") read.reasoning += asText(block["thinking"]);
    else if (type === "tool_use") read.toolCalls.push(call);
    else if (/^(?:server|mcp)_tool_use$/.test(type)) read.hosted.push(call);
    else if (/_tool_result$/.test(type)) {
      const hosted = read.hosted.find(({ id }) => id === block["tool_use_id"]);
      if (!hosted) continue;
      hosted.result = resultText(block["content"]);
      if (objectsOf(block["content"]).some((one) => one["encrypted_content"] !== undefined)) read.sealed = true;
    }
  }
  return read;
}

function inputText(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input ?? {});
}

/** Results of server tools: searches have titles, addresses and encrypted pages, of which the first two are kept. */
function resultText(content: unknown): string {
  const ran = asObject(content);
  if (ran?.["stdout"] !== undefined) return [ran["stdout"], ran["stderr"]].map(asText).filter(Boolean).join("\n");
  if (ran) return asText(ran);
  return blocksOf(content)
    .map((block) => asString(block["text"]) ?? [block["title"], block["url"]].map(asText).filter(Boolean).join(" "))
    .join("\n");
}

function readMessage(raw: Json): Message[] {
  const blocks = blocksOf(raw["content"]);
  if (raw["role"] === "assistant") {
    const { text, reasoning, toolCalls, hosted } = readBlocks(blocks);
    const made: Message[] = [];
    for (const { result, ...call } of hosted) {
      made.push({ role: "assistant", content: "", toolCalls: [call] });
      if (result !== undefined) made.push({ role: "tool", content: result, toolCallId: call.id });
    }
    return [
      ...made,
      {
        role: "assistant",
        content: text,
        ...(reasoning && { reasoning }),
        ...(toolCalls.length > 0 && { toolCalls }),
      },
    ];
  }
  const results = blocks.filter((block) => block["type"] === "tool_result");
  const rest = blocks.filter((block) => block["type"] !== "tool_result");
  return [
    ...results.map(
      (block): Message => ({
        role: "tool",
        content: blockText(block["content"]),
        toolCallId: asText(block["tool_use_id"]),
      }),
    ),
    ...(rest.length > 0 ? [{ role: "user" as const, content: blockText(rest) }] : []),
  ];
}

function readReply(json: Json): WireReply {
  if (json["type"] === "error" || json["error"]) return { ...noReply(), error: errorText(json["error"] ?? json) };
  const { text, reasoning, toolCalls, hosted, sealed } = readBlocks(objectsOf(json["content"]));
  const stop = asString(json["stop_reason"]);
  const reply: WireReply = {
    text,
    ...(reasoning && { reasoning }),
    toolCalls,
    ...(hosted.length > 0 && { hosted }),
    ...(stop && { finish: stopReasons[stop] ?? "other" }),
    finished: stop !== undefined,
    ...defined({ responseId: asString(json["id"]), model: asString(json["model"]), usage: readUsage(json["usage"]) }),
  };
  if (sealed || hosted.some(({ result }) => result === undefined)) lose(reply, "hosted-tool");
  return reply;
}

function readUsage(value: unknown): WireReply["usage"] {
  const usage = asObject(value);
  if (!usage) return undefined;
  const [cached, written] = [
    asNumber(usage["cache_read_input_tokens"]),
    asNumber(usage["cache_creation_input_tokens"]),
  ];
  return defined({
    promptTokens: (asNumber(usage["input_tokens"]) ?? 0) + (cached ?? 0) + (written ?? 0),
    completionTokens: asNumber(usage["output_tokens"]),
    cachedTokens: cached,
  });
}

/** Puts the message together as the SDK does, and reads it as a whole. */
function messageReader(): ReplyReader {
  const message: Json = {};
  const blocks: Json[] = [];
  let error: string | undefined;
  return {
    get reply() {
      const whole = blocks.map(({ partial, ...block }) =>
        partial === undefined ? block : { ...block, input: parseJson(partial) ?? partial },
      );
      return { ...readReply({ ...message, content: whole.filter(Boolean) }), ...(error !== undefined && { error }) };
    },
    add(event) {
      const json = asObject(event) ?? {};
      const index = asNumber(json["index"]) ?? 0;
      const delta = asObject(json["delta"]) ?? {};
      if (json["type"] === "message_start") Object.assign(message, asObject(json["message"]));
      else if (json["type"] === "content_block_start") blocks[index] = { ...asObject(json["content_block"]) };
      else if (json["type"] === "content_block_delta") return addDelta((blocks[index] ??= { type: "text" }), delta);
      else if (json["type"] === "message_delta") {
        Object.assign(message, delta);
        message["usage"] = { ...asObject(message["usage"]), ...asObject(json["usage"]) };
      } else if (json["type"] === "error") error = errorText(json["error"]);
      return "";
    },
  };
}

function addDelta(block: Json, delta: Json): string {
  const text = asString(delta["text"]) ?? "";
  if (text) block["text"] = asText(block["text"]) + text;
  if (delta["thinking"]) block["thinking"] = asText(block["thinking"]) + asText(delta["thinking"]);
  if (delta["type"] === "input_json_delta") {
    block["partial"] = asText(block["partial"]) + asText(delta["partial_json"]);
    if (block["partial"] === "") delete block["partial"];
  }
  return text;
}

function writeBlocks(reply: Pick<WireReply, "text" | "reasoning" | "toolCalls" | "hosted">): Json[] {
  const input = (text: string) => asObject(parseJson(text)) ?? {};
  return [
    ...(reply.reasoning ? [{ type: "thinking", thinking: reply.reasoning, signature: "" }] : []),
    ...(reply.hosted ?? []).flatMap(({ id, name, arguments: text, result }): Json[] => [
      { type: "server_tool_use", id, name, input: input(text) },
      ...(result === undefined
        ? []
        : [{ type: "mcp_tool_result", tool_use_id: id, content: [{ type: "text", text: result }] }]),
    ]),
    ...(reply.text ? [{ type: "text", text: reply.text }] : []),
    ...reply.toolCalls.map(({ id, name, arguments: text }) => ({ type: "tool_use", id, name, input: input(text) })),
  ];
}

function writeMessages(messages: readonly Message[]): Json[] {
  const written: { role: string; content: Json[] }[] = [];
  for (const { role, content, reasoning, toolCalls = [], toolCallId } of messages) {
    const blocks =
      role === "tool"
        ? [{ type: "tool_result", tool_use_id: toolCallId, content }]
        : role === "assistant"
          ? writeBlocks({ text: content, ...(reasoning && { reasoning }), toolCalls })
          : [{ type: "text", text: content }];
    const wire = role === "assistant" ? "assistant" : "user";
    const last = written.at(-1);
    if (last?.role === wire) last.content.push(...blocks);
    else written.push({ role: wire, content: blocks });
  }
  return written;
}

function writeReply(reply: WireReply): Json {
  const { promptTokens = 0, completionTokens = 0, cachedTokens = 0 } = reply.usage ?? {};
  return {
    id: reply.responseId ?? "",
    type: "message",
    role: "assistant",
    model: reply.model ?? "",
    content: writeBlocks(reply),
    stop_reason: {
      stop: "end_turn",
      length: "max_tokens",
      tool_calls: "tool_use",
      refusal: "refusal",
      other: "end_turn",
    }[reply.finish ?? (reply.toolCalls.length > 0 ? "tool_calls" : "stop")],
    stop_sequence: null,
    usage: {
      input_tokens: promptTokens - cachedTokens,
      output_tokens: completionTokens,
      cache_read_input_tokens: cachedTokens,
      cache_creation_input_tokens: 0,
    },
  };
}

/** Anthropic's Messages API. */
export const anthropicMessages: WireApi = {
  name: "anthropic-messages",
  framing: "named-sse",
  lastEvent: /"type": ?"message_stop"/,
  matches: (path) =>
    path.endsWith("/messages") ||
    /\/model\/[^/]+\/invoke$/.test(path) ||
    /\/publishers\/anthropic\/models\/[^/]+:(?:r|streamR)awPredict$/.test(path),
  accepts: (body) => Array.isArray(body["messages"]) && body["max_tokens"] !== undefined,
  readRequest(body) {
    const system = blocksOf(body["system"] ?? []);
    const raw = objectsOf(body["messages"]);
    const request: WireRequest = {
      ...defined({
        model: asString(body["model"]),
        stream: body["stream"] === true ? true : undefined,
        maxTokens: asNumber(body["max_tokens"]),
        temperature: asNumber(body["temperature"]),
        topP: asNumber(body["top_p"]),
        stop: readStop(body["stop_sequences"]),
        toolChoice: body["tool_choice"],
        responseFormat: body["output_format"] ?? asObject(body["output_config"])?.["format"],
      }),
      messages: [
        ...(system.length > 0 ? [{ role: "system" as const, content: blockText(system) }] : []),
        ...raw.flatMap(readMessage),
      ],
      tools: readTools(body["tools"]),
    };
    const blocks = raw.flatMap((message) => blocksOf(message["content"]));
    if ([...blocks, ...blocks.flatMap((block) => objectsOf(block["content"]))].some(isMedia)) lose(request, "media");
    const said = readBlocks(blocks);
    if (said.sealed || said.hosted.some(({ result }) => result === undefined)) lose(request, "hosted-tool");
    return request;
  },
  writeRequest(request) {
    const system = request.messages.filter(({ role }) => role === "system").map(({ content }) => content);
    const body = {
      ...defined({
        model: request.model,
        system: system.length > 0 ? system.join("\n") : undefined,
        max_tokens: request.maxTokens ?? 4096,
        temperature: request.temperature,
        top_p: request.topP,
        stop_sequences: request.stop,
        stream: request.stream,
      }),
      messages: writeMessages(request.messages.filter(({ role }) => role !== "system")),
      ...(request.tools.length > 0 && {
        tools: request.tools.map(({ name, description, parameters }) => ({
          name,
          description,
          input_schema: parameters,
        })),
      }),
    };
    return { path: "/v1/messages", body };
  },
  readReply,
  writeReply,
  replyReader: messageReader,
  writeEvents(reply, pieces = [reply.text]) {
    const whole = writeReply(reply);
    const { output_tokens, ...before } = whole["usage"] as Json;
    const events: Json[] = [
      {
        type: "message_start",
        message: { ...whole, content: [], stop_reason: null, usage: { ...before, output_tokens: 1 } },
      },
    ];
    for (const [index, block] of (whole["content"] as Json[]).entries()) {
      const { text, thinking, input, ...start } = block;
      const empty = {
        ...(text !== undefined && { text: "" }),
        ...(thinking !== undefined && { thinking: "" }),
        ...(input !== undefined && { input: {} }),
      };
      const deltas =
        text !== undefined
          ? pieces.filter((piece) => piece !== "").map((piece) => ({ type: "text_delta", text: piece }))
          : thinking !== undefined
            ? [{ type: "thinking_delta", thinking }]
            : input !== undefined
              ? [{ type: "input_json_delta", partial_json: JSON.stringify(input) }]
              : [];
      events.push({ type: "content_block_start", index, content_block: { ...start, ...empty } });
      for (const delta of deltas) events.push({ type: "content_block_delta", index, delta });
      events.push({ type: "content_block_stop", index });
    }
    if (!reply.finished) return events;
    const { stop_reason, stop_sequence } = whole;
    events.push({ type: "message_delta", delta: { stop_reason, stop_sequence }, usage: { output_tokens } });
    return [...events, { type: "message_stop" }];
  },
  limitReply: (body, maxTokens) => ({ ...body, max_tokens: maxTokens }),
};
