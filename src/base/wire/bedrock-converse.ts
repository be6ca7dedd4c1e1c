/**
 * Amazon Bedrock's Converse and ConverseStream. A stream travels in Amazon's binary frames; a recorder unpacks them into
 * JSON lines `{type, …}` (`readEventStream`), and that is what is read here.
 */

import type { Json } from "../../core/json-value.ts";
import { asNumber, asObject, asString, asText, defined, objectsOf, parseJson } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import { readStop } from "./openai-chat.ts";
import { writeStopReason } from "./reply-facts.ts";
import { flatWriter, type ReplyFacts, type ReplyWriter } from "./reply-writer.ts";
import { nothingSaid, readTool, saidMessages, saidReply } from "./said.ts";
import type { WireApi, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";

function readBlocks(blocks: readonly Json[]) {
  const read = { ...nothingSaid(), results: [] as Message[], media: false };
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
  const { results, media: _media, ...said } = readBlocks(objectsOf(raw["content"]));
  if (raw["role"] === "assistant") return saidMessages(said);
  return [...results, ...(said.text ? [{ role: "user" as const, content: said.text }] : [])];
}

function readReply(json: Json): WireReply {
  const message = asObject(asObject(json["output"])?.["message"]);
  const usage = asObject(json["usage"]);
  const stop = asString(json["stopReason"]);
  if (!message && !stop) return { ...noReply(), error: errorText(json["message"] ?? json["Message"] ?? "no message") };
  const { media, ...said } = readBlocks(objectsOf(message?.["content"]));
  const cached = asNumber(usage?.["cacheReadInputTokens"]);
  return {
    ...saidReply(said, stop),
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

function readEvents(events: readonly unknown[]): WireReply {
  const blocks: Json[] = [];
  const whole: Json = {};
  for (const json of objectsOf(events)) {
    const index = Math.min(asNumber(json["contentBlockIndex"]) ?? 0, 1000);
    if (json["type"] === "contentBlockStart") blocks[index] = { ...asObject(json["start"]) };
    else if (json["type"] === "messageStop") whole["stopReason"] = json["stopReason"];
    else if (json["type"] === "metadata") whole["usage"] = json["usage"];
    else if (json["type"] === "contentBlockDelta") addDelta((blocks[index] ??= {}), asObject(json["delta"]) ?? {});
  }
  return readReply({ ...whole, output: { message: { role: "assistant", content: blocks.filter(Boolean) } } });
}

function addDelta(block: Json, delta: Json): void {
  if (delta["text"]) block["text"] = asText(block["text"]) + asText(delta["text"]);
  const use = asObject(delta["toolUse"]);
  if (use) {
    const before = asObject(block["toolUse"]);
    block["toolUse"] = { ...before, input: asText(before?.["input"]) + asText(use["input"]) };
  }
  const thought = asString(asObject(delta["reasoningContent"])?.["text"]);
  if (thought) {
    block["reasoningContent"] = { text: asText(asObject(block["reasoningContent"])?.["text"]) + thought };
  }
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

function writeEnd({ finish, toolCalls, usage = {} }: WireReply): Json {
  const { promptTokens = 0, completionTokens = 0, cachedTokens = 0 } = usage;
  return {
    stopReason: writeStopReason(finish ?? (toolCalls.length > 0 ? "tool_calls" : "stop"), "content_filtered"),
    usage: {
      inputTokens: promptTokens - cachedTokens,
      outputTokens: completionTokens,
      totalTokens: promptTokens + completionTokens,
      cacheReadInputTokens: cachedTokens,
    },
  };
}

function converseWriter(facts: ReplyFacts): ReplyWriter {
  let contentBlockIndex = -1;
  let open = "";
  const close = (): Json[] => (open === "" ? [] : [{ type: "contentBlockStop", contentBlockIndex }]);
  return flatWriter(facts, {
    first: [{ type: "messageStart", role: "assistant" }],
    added(added, _reply, { type }) {
      const [block] = writeBlocks(added);
      if (!block) return [];
      const use = asObject(block["toolUse"]);
      const thought = asObject(asObject(block["reasoningContent"])?.["reasoningText"]);
      const events: Json[] = [];
      if (use || type !== open) {
        events.push(...close());
        contentBlockIndex++;
        open = type;
      }
      const { input, ...start } = use ?? {};
      if (use) events.push({ type: "contentBlockStart", contentBlockIndex, start: { toolUse: start } });
      const delta = use
        ? { toolUse: { input: JSON.stringify(input) } }
        : thought
          ? { reasoningContent: { text: thought["text"] } }
          : block;
      return [...events, { type: "contentBlockDelta", contentBlockIndex, delta }];
    },
    end(reply) {
      const { stopReason, usage } = writeEnd(reply);
      return [...close(), { type: "messageStop", stopReason }, { type: "metadata", usage }];
    },
    whole: (reply) => ({
      output: { message: { role: "assistant", content: writeBlocks(reply) } },
      ...(reply.finished && writeEnd(reply)),
    }),
  });
}

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
        return spec ? [readTool(spec, asObject(spec["inputSchema"])?.["json"])] : [];
      }),
    };
    const blocks = raw.flatMap((message) => objectsOf(message["content"]));
    const inside = blocks.flatMap((block) => objectsOf(asObject(block["toolResult"])?.["content"]));
    const text = (block: Json) => block["text"] !== undefined || block["json"] !== undefined;
    if (readBlocks(blocks).media || inside.some((block) => !text(block))) lose(request, "media");
    return request;
  },
  readReply,
  readEvents,
  replyWriter: converseWriter,
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
