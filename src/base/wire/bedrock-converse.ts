/**
 * Amazon Bedrock's Converse and ConverseStream. A stream travels in Amazon's binary frames; a recorder unpacks them into
 * JSON lines `{type, …}` (`readEventStream`), and that is what is read here.
 */

import type { Json } from "../../core/json-value.ts";
import { asNumber, asObject, asString, asText, defined, objectsOf, parseJson } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import { stopReasons } from "./anthropic-messages.ts";
import { readStop } from "./openai-chat.ts";
import type { ReplyReader, WireApi, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";

function readBlocks(blocks: readonly Json[]) {
  const read = {
    text: "",
    reasoning: "",
    toolCalls: [] as NonNullable<Message["toolCalls"]>,
    results: [] as Message[],
    media: false,
  };
  for (const block of blocks) {
    const use = asObject(block["toolUse"]);
    const result = asObject(block["toolResult"]);
    const thought =
      asObject(asObject(block["reasoningContent"])?.["reasoningText"]) ?? asObject(block["reasoningContent"]);
    const guarded = asString(asObject(asObject(block["guardContent"])?.["text"])?.["text"]);
    if (use) {
      const text = asString(use["input"]) ?? JSON.stringify(use["input"] ?? {});
      read.toolCalls.push({ id: asText(use["toolUseId"]), name: asText(use["name"]), arguments: text });
    } else if (result) {
      const content = objectsOf(result["content"]).map(
        (part) => asString(part["text"]) ?? asText(part["json"] ?? part),
      );
      read.results.push({ role: "tool", content: content.join(""), toolCallId: asText(result["toolUseId"]) });
    } else if (thought) read.reasoning += asText(thought["text"]);
    else if (typeof block["text"] === "string") read.text += block["text"];
    else if (guarded !== undefined) read.text += guarded;
    else if (!block["cachePoint"]) {
      read.text += `[${Object.keys(block)[0] ?? "part"}]`;
      read.media = true;
    }
  }
  return read;
}

function readMessage(raw: Json): Message[] {
  const { text, reasoning, toolCalls, results } = readBlocks(objectsOf(raw["content"]));
  if (raw["role"] !== "assistant") return [...results, ...(text ? [{ role: "user" as const, content: text }] : [])];
  return [
    { role: "assistant", content: text, ...(reasoning && { reasoning }), ...(toolCalls.length > 0 && { toolCalls }) },
  ];
}

function readReply(json: Json): WireReply {
  const message = asObject(asObject(json["output"])?.["message"]);
  const usage = asObject(json["usage"]);
  const stop = asString(json["stopReason"]);
  if (!message && !stop) return { ...noReply(), error: errorText(json["message"] ?? json["Message"] ?? "no message") };
  const { text, reasoning, toolCalls, media } = readBlocks(objectsOf(message?.["content"]));
  const cached = asNumber(usage?.["cacheReadInputTokens"]);
  return {
    text,
    ...(reasoning && { reasoning }),
    toolCalls,
    ...(stop && { finish: stopReasons[stop] ?? "other" }),
    finished: stop !== undefined,
    ...(media && { lost: ["media" as const] }),
    ...(usage && {
      usage: defined({
        promptTokens:
          (asNumber(usage["inputTokens"]) ?? 0) + (cached ?? 0) + (asNumber(usage["cacheWriteInputTokens"]) ?? 0),
        completionTokens: asNumber(usage["outputTokens"]),
        cachedTokens: cached,
      }),
    }),
  };
}

function converseReader(): ReplyReader {
  const blocks: Json[] = [];
  const whole: Json = {};
  return {
    get reply() {
      return readReply({ ...whole, output: { message: { role: "assistant", content: blocks.filter(Boolean) } } });
    },
    add(event) {
      const json = asObject(event) ?? {};
      const index = asNumber(json["contentBlockIndex"]) ?? 0;
      const delta = asObject(json["delta"]) ?? {};
      if (json["type"] === "contentBlockStart") blocks[index] = { ...asObject(json["start"]) };
      else if (json["type"] === "messageStop") whole["stopReason"] = json["stopReason"];
      else if (json["type"] === "metadata") whole["usage"] = json["usage"];
      else if (json["type"] === "contentBlockDelta") return addDelta((blocks[index] ??= {}), delta);
      return "";
    },
  };
}

function addDelta(block: Json, delta: Json): string {
  const text = asString(delta["text"]) ?? "";
  if (text) block["text"] = asText(block["text"]) + text;
  const use = asObject(delta["toolUse"]);
  if (use) {
    const before = asObject(block["toolUse"]);
    block["toolUse"] = { ...before, input: asText(before?.["input"]) + asText(use["input"]) };
  }
  const thought = asString(asObject(delta["reasoningContent"])?.["text"]);
  if (thought) {
    block["reasoningContent"] = { text: asText(asObject(block["reasoningContent"])?.["text"]) + thought };
  }
  return text;
}

function writeBlocks(reply: Pick<WireReply, "text" | "reasoning" | "toolCalls">): Json[] {
  return [
    ...(reply.reasoning ? [{ reasoningContent: { reasoningText: { text: reply.reasoning } } }] : []),
    ...(reply.text ? [{ text: reply.text }] : []),
    ...reply.toolCalls.map(({ id, name, arguments: text }) => ({
      toolUse: { toolUseId: id, name, input: parseJson(text) ?? {} },
    })),
  ];
}

function writeMessages(messages: readonly Message[]): Json[] {
  const written: { role: string; content: Json[] }[] = [];
  for (const { role, content, reasoning, toolCalls = [], toolCallId } of messages) {
    const blocks =
      role === "tool"
        ? [{ toolResult: { toolUseId: toolCallId, content: [{ text: content }], status: "success" } }]
        : role === "assistant"
          ? writeBlocks({ text: content, ...(reasoning && { reasoning }), toolCalls })
          : [{ text: content }];
    const wire = role === "assistant" ? "assistant" : "user";
    const last = written.at(-1);
    if (last?.role === wire) last.content.push(...blocks);
    else written.push({ role: wire, content: blocks });
  }
  return written;
}

const writtenReasons = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  refusal: "content_filtered",
  other: "end_turn",
};

function writeReply(reply: WireReply): Json {
  const { promptTokens = 0, completionTokens = 0, cachedTokens = 0 } = reply.usage ?? {};
  return {
    output: { message: { role: "assistant", content: writeBlocks(reply) } },
    stopReason: writtenReasons[reply.finish ?? (reply.toolCalls.length > 0 ? "tool_calls" : "stop")],
    usage: {
      inputTokens: promptTokens - cachedTokens,
      outputTokens: completionTokens,
      totalTokens: promptTokens + completionTokens,
      cacheReadInputTokens: cachedTokens,
    },
  };
}

/** Amazon Bedrock's Converse. */
export const bedrockConverse: WireApi = {
  name: "bedrock-converse",
  framing: "ndjson",
  lastEvent: /"type": ?"metadata"/,
  matches: (path) => /\/model\/[^/]+\/converse(?:-stream)?$/.test(path),
  readRequest(body, path) {
    const settings = asObject(body["inferenceConfig"]) ?? {};
    const system = objectsOf(body["system"]).map((block) => asText(block["text"]));
    const raw = objectsOf(body["messages"]);
    const request: WireRequest = {
      ...defined({
        model: decodeURIComponent(/\/model\/([^/]+)\//.exec(path)?.[1] ?? "") || undefined,
        stream: path.endsWith("-stream") ? true : undefined,
        maxTokens: asNumber(settings["maxTokens"]),
        temperature: asNumber(settings["temperature"]),
        topP: asNumber(settings["topP"]),
        stop: readStop(settings["stopSequences"]),
        toolChoice: asObject(body["toolConfig"])?.["toolChoice"],
      }),
      messages: [
        ...(system.length > 0 ? [{ role: "system" as const, content: system.join("") }] : []),
        ...raw.flatMap(readMessage),
      ],
      tools: objectsOf(asObject(body["toolConfig"])?.["tools"]).flatMap((tool) => {
        const spec = asObject(tool["toolSpec"]);
        if (!spec) return [];
        const description = asString(spec["description"]);
        const parameters = asObject(spec["inputSchema"])?.["json"];
        return [
          {
            name: asText(spec["name"]),
            ...(description && { description }),
            ...(parameters !== undefined && { parameters }),
          },
        ];
      }),
    };
    const blocks = raw.flatMap((message) => objectsOf(message["content"]));
    const inside = blocks.flatMap((block) => objectsOf(asObject(block["toolResult"])?.["content"]));
    const text = (block: Json) => block["text"] !== undefined || block["json"] !== undefined;
    if (readBlocks(blocks).media || inside.some((block) => !text(block))) lose(request, "media");
    return request;
  },
  writeRequest(request) {
    const system = request.messages.filter(({ role }) => role === "system").map(({ content }) => ({ text: content }));
    const settings = defined({
      maxTokens: request.maxTokens,
      temperature: request.temperature,
      topP: request.topP,
      stopSequences: request.stop,
    });
    const body = {
      ...(system.length > 0 && { system }),
      messages: writeMessages(request.messages.filter(({ role }) => role !== "system")),
      ...(request.tools.length > 0 && {
        toolConfig: {
          tools: request.tools.map(({ name, description, parameters }) => ({
            toolSpec: { name, description, inputSchema: { json: parameters } },
          })),
        },
      }),
      ...(Object.keys(settings).length > 0 && { inferenceConfig: settings }),
    };
    const model = encodeURIComponent(request.model ?? "model");
    return { path: `/model/${model}/converse${request.stream ? "-stream" : ""}`, body };
  },
  readReply,
  writeReply,
  replyReader: converseReader,
  writeEvents(reply, pieces = [reply.text]) {
    const whole = writeReply(reply);
    const events: Json[] = [{ type: "messageStart", role: "assistant" }];
    const content = objectsOf(asObject(asObject(whole["output"])?.["message"])?.["content"]);
    for (const [contentBlockIndex, block] of content.entries()) {
      const use = asObject(block["toolUse"]);
      const thought = asObject(asObject(block["reasoningContent"])?.["reasoningText"]);
      const add = (delta: Json) => events.push({ type: "contentBlockDelta", contentBlockIndex, delta });
      if (use) {
        const { input, ...start } = use;
        events.push({ type: "contentBlockStart", contentBlockIndex, start: { toolUse: start } });
        add({ toolUse: { input: JSON.stringify(input) } });
      } else if (thought) add({ reasoningContent: { text: thought["text"] } });
      else for (const text of pieces.filter((piece) => piece !== "")) add({ text });
      events.push({ type: "contentBlockStop", contentBlockIndex });
    }
    if (!reply.finished) return events;
    return [
      ...events,
      { type: "messageStop", stopReason: whole["stopReason"] },
      { type: "metadata", usage: whole["usage"] },
    ];
  },
  limitReply: (body, maxTokens) => ({
    ...body,
    inferenceConfig: { ...asObject(body["inferenceConfig"]), maxTokens },
  }),
};

/** The events of Amazon's binary stream as `{type, …}`; what is not a frame is left out. */
export function readEventStream(bytes: Uint8Array): Json[] {
  const events: Json[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = new TextDecoder();
  for (let at = 0; at + 16 <= bytes.length; ) {
    const total = view.getUint32(at);
    const headers = view.getUint32(at + 4);
    if (total < 16 || at + total > bytes.length || headers > total - 16) break;
    let type = "";
    for (let head = at + 12; head < at + 12 + headers; ) {
      const nameLength = view.getUint8(head);
      const name = text.decode(bytes.subarray(head + 1, head + 1 + nameLength));
      const kind = view.getUint8(head + 1 + nameLength);
      if (kind !== 7) break; // the headers that matter are strings
      const length = view.getUint16(head + 2 + nameLength);
      const value = text.decode(bytes.subarray(head + 4 + nameLength, head + 4 + nameLength + length));
      if (name === ":event-type" || name === ":exception-type") type = value;
      head += 4 + nameLength + length;
    }
    const payload = asObject(parseJson(text.decode(bytes.subarray(at + 12 + headers, at + total - 4))));
    if (payload) events.push({ type, ...payload });
    at += total;
  }
  return events;
}
