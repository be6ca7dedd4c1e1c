/** Anthropic's Messages API: a message is a list of blocks, tool results are blocks of the user's next message. */

import type { Json } from "../../core/json-value.ts";
import { asNumber, asObject, asString, asText, defined, objectsOf, parseJson } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import { readStop, readTools } from "./openai-chat.ts";
import { writeStopReason } from "./reply-facts.ts";
import type { ReplyEnd, ReplyFacts, ReplyWriter } from "./reply-writer.ts";
import { nothingSaid, saidMessages, saidReply } from "./said.ts";
import type { WireApi, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";

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
  /** Sealed: the model read pages that the client gets encrypted. */
  const read = { ...nothingSaid(), sealed: false };
  for (const block of blocks) {
    const type = asText(block["type"]);
    const input = block["input"] ?? {};
    const written = typeof input === "string" ? input : JSON.stringify(input);
    const call = { id: asText(block["id"]), name: asText(block["name"]), arguments: written };
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
  if (raw["role"] === "assistant") return saidMessages(readBlocks(blocks));
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
  const { sealed, hosted, ...said } = readBlocks(objectsOf(json["content"]));
  const stop = asString(json["stop_reason"]);
  const reply: WireReply = {
    ...saidReply({ ...said, hosted }, stop),
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
function readEvents(events: readonly unknown[]): WireReply {
  const message: Json = {};
  const blocks: Json[] = [];
  let error: string | undefined;
  for (const json of objectsOf(events)) {
    const index = Math.min(asNumber(json["index"]) ?? 0, 1000);
    const delta = asObject(json["delta"]) ?? {};
    if (json["type"] === "message_start") Object.assign(message, asObject(json["message"]));
    else if (json["type"] === "content_block_start") blocks[index] = { ...asObject(json["content_block"]) };
    else if (json["type"] === "content_block_delta") addDelta((blocks[index] ??= { type: "text" }), delta);
    else if (json["type"] === "message_delta") {
      Object.assign(message, delta);
      message["usage"] = { ...asObject(message["usage"]), ...asObject(json["usage"]) };
    } else if (json["type"] === "error") error = errorText(json["error"]);
  }
  const whole = blocks.map(({ partial, ...block }) =>
    partial === undefined ? block : { ...block, input: parseJson(partial) ?? partial },
  );
  return { ...readReply({ ...message, content: whole.filter(Boolean) }), ...(error !== undefined && { error }) };
}

function addDelta(block: Json, delta: Json): void {
  for (const name of ["text", "thinking"]) if (delta[name]) block[name] = asText(block[name]) + asText(delta[name]);
  if (delta["type"] === "input_json_delta") {
    block["partial"] = asText(block["partial"]) + asText(delta["partial_json"]);
    if (block["partial"] === "") delete block["partial"];
  }
}

/** Writes blocks one after the other; only the last one can be open. */
function messageWriter(facts: ReplyFacts): ReplyWriter {
  const content: Json[] = [];
  let open: "thinking" | "text" | undefined;
  let called = false;
  let ending: ReplyEnd | undefined;
  const delta = (delta: Json): Json => ({ type: "content_block_delta", index: content.length - 1, delta });

  function start(block: Json, shown: Json = block): Json[] {
    const closed = close();
    content.push({ ...block });
    return [...closed, { type: "content_block_start", index: content.length - 1, content_block: shown }];
  }
  function close(signature = facts.sealed ?? ""): Json[] {
    const stop = { type: "content_block_stop", index: content.length - 1 };
    const was = open;
    open = undefined;
    if (was !== "thinking") return was ? [stop] : [];
    content.at(-1)!["signature"] = signature;
    return [delta({ type: "signature_delta", signature }), stop];
  }
  function grow(type: "thinking" | "text", text: string): Json[] {
    const started = open === type ? [] : start({ type, [type]: "", ...(type === "thinking" && { signature: "" }) });
    open = type;
    const block = content.at(-1)!;
    block[type] = asText(block[type]) + text;
    return [...started, delta({ type: `${type}_delta`, [type]: text })];
  }
  function whole(block: Json, deltas: Json[] = [], shown?: Json): Json[] {
    const started = start(block, shown);
    return [...started, ...deltas.map(delta), { type: "content_block_stop", index: content.length - 1 }];
  }
  function use(block: Json, text: string): Json[] {
    const input = asObject(parseJson(text)) ?? {};
    const partial = { type: "input_json_delta", partial_json: JSON.stringify(input) };
    return whole({ ...block, input }, [partial], { ...block, input: {} });
  }
  function message(): Json {
    const { finish, stop = null, usage } = ending ?? {};
    const reason =
      stop === null ? writeStopReason(finish ?? (called ? "tool_calls" : "stop"), "refusal") : "stop_sequence";
    return {
      ...{ id: facts.responseId ?? "", type: "message", role: "assistant", model: facts.model ?? "" },
      content: [...content],
      stop_reason: ending ? reason : null,
      stop_sequence: stop,
      usage: writeUsage(usage),
    };
  }
  return {
    whole: message,
    begin: () => [{ type: "message_start", message: message() }],
    add(part) {
      switch (part.type) {
        case "reasoning":
          return grow("thinking", part.text);
        case "text":
          return grow("text", part.text);
        case "state":
          // Without thinking before the call the state gets a block of its own, which clients send back unread.
          return open === "thinking" ? close(part.state) : whole({ type: "redacted_thinking", data: part.state });
        case "call": {
          called = true;
          const { id, name, arguments: text } = part.call;
          return use({ type: "tool_use", id, name }, text);
        }
        case "hosted": {
          const { id, name, arguments: text, result, failed = false } = part.call;
          const shown = { type: "mcp_tool_result", tool_use_id: id, is_error: failed };
          return [
            ...use({ type: "mcp_tool_use", id, name, server_name: "coa" }, text),
            ...(result === undefined ? [] : whole({ ...shown, content: [{ type: "text", text: result }] })),
          ];
        }
      }
    },
    end(end) {
      const closed = close();
      ending = end;
      const { stop_reason, stop_sequence, usage } = message();
      return [
        ...closed,
        { type: "message_delta", delta: { stop_reason, stop_sequence }, usage },
        { type: "message_stop" },
      ];
    },
  };
}

function writeUsage({ promptTokens = 0, completionTokens = 0, cachedTokens = 0 }: WireReply["usage"] = {}): Json {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}

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
        // A thread that the server keeps is continued with its new messages alone.
        previousResponseId: asString(asObject(body["thread"])?.["previous_message_id"]),
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
  readReply,
  readEvents,
  replyWriter: messageWriter,
  limitReply: (body, maxTokens) => ({ ...body, max_tokens: maxTokens }),
};
