/** Gemini's generateContent and streamGenerateContent: contents made of parts; calls have no ids of their own. */

import type { Json } from "../../core/json-value.ts";
import { asNumber, asObject, asString, asText, defined, objectsOf, parseJson } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import { fillCallIds } from "./call-ids.ts";
import { readStop } from "./openai-chat.ts";
import { flatWriter } from "./reply-writer.ts";
import { nothingSaid, readTool, type Said, saidMessages, saidReply } from "./said.ts";
import type { ToolDefinition, WireApi, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";

/** A field in either spelling: Google's own libraries write both. */
function field(raw: Json | undefined, name: string): unknown {
  return raw?.[name] ?? raw?.[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

function partsOf(content: unknown): Json[] {
  if (typeof content === "string") return [{ text: content }];
  return objectsOf(asObject(content)?.["parts"] ?? content);
}

interface Read extends Said {
  results: Message[];
  media: boolean;
}

function readParts(parts: readonly Json[]): Read {
  const read: Read = { ...nothingSaid(), results: [], media: false };
  for (const part of parts) {
    const call = asObject(field(part, "functionCall"));
    const result = asObject(field(part, "functionResponse"));
    const code = asObject(field(part, "executableCode"));
    const ran = asObject(field(part, "codeExecutionResult"));
    if (call) {
      const text = JSON.stringify(call["args"] ?? {});
      read.toolCalls.push({ id: asString(call["id"]) ?? "", name: asText(call["name"]), arguments: text });
    } else if (result) {
      const name = asString(result["name"]);
      const content = resultText(result["response"]);
      read.results.push({ role: "tool", content, toolCallId: asString(result["id"]) ?? "", ...(name && { name }) });
    } else if (code) {
      const id = `code-${read.hosted.length + 1}`;
      read.hosted.push({ id, name: "code_execution", arguments: JSON.stringify({ code: asText(code["code"]) }) });
    } else if (ran) {
      const last = read.hosted.at(-1);
      if (last) last.result = asText(ran["output"]);
    } else if (typeof part["text"] === "string") {
      if (part["thought"] === true) read.reasoning += part["text"];
      else read.text += part["text"];
    } else if (field(part, "inlineData") || field(part, "fileData")) {
      read.text += "[media]";
      read.media = true;
    }
  }
  return read;
}

/** Libraries wrap a tool's text as `{output}` or `{result}`; what is alone in such a wrapper is the text itself. */
function resultText(response: unknown): string {
  const entries = Object.entries(asObject(response) ?? {});
  const only = entries.length === 1 ? entries[0] : undefined;
  if (only && /^(?:output|result|content|error)$/.test(only[0]) && typeof only[1] === "string") return only[1];
  return asText(response);
}

function readContent(content: Json): Message[] {
  const said = readParts(partsOf(content));
  if (content["role"] === "model") return saidMessages(said);
  return [...said.results, ...(said.text ? [{ role: "user" as const, content: said.text }] : [])];
}

function readDeclarations(value: unknown): ToolDefinition[] {
  return objectsOf(value).flatMap((tool) => {
    const declared = objectsOf(field(tool, "functionDeclarations")).map((one) =>
      readTool(one, field(one, "parametersJsonSchema") ?? one["parameters"]),
    );
    return declared.length > 0 ? declared : Object.keys(tool).map((name) => ({ name }));
  });
}

function readReply(json: Json): WireReply {
  if (json["error"]) return { ...noReply(), error: errorText(json["error"]) };
  const [first, ...rest] = objectsOf(json["candidates"]).map(readCandidate);
  const blocked = asString(asObject(field(json, "promptFeedback"))?.["blockReason"]);
  const facts = defined({
    responseId: asString(field(json, "responseId")),
    model: asString(field(json, "modelVersion")),
    usage: readUsage(field(json, "usageMetadata")),
  });
  if (!first) return { ...noReply(), ...facts, ...(blocked && { finish: "refusal", finished: true, text: blocked }) };
  const others = rest.map(({ finished: _finished, ...other }) => other);
  return { ...first, ...facts, ...(others.length > 0 && { others }) };
}

function readCandidate(candidate: Json): WireReply {
  const { media, ...said } = readParts(partsOf(candidate["content"]));
  const { toolCalls, hosted } = said;
  const finish = asString(field(candidate, "finishReason"));
  const reply = saidReply(said, finish);
  if (reply.finish === "stop" && toolCalls.length > 0) reply.finish = "tool_calls";
  if (media) lose(reply, "media");
  const searched = field(candidate, "groundingMetadata") ?? field(candidate, "urlContextMetadata");
  if (searched || hosted.some(({ result }) => result === undefined)) {
    lose(reply, "hosted-tool");
  }
  return reply;
}

function readUsage(value: unknown): WireReply["usage"] {
  const usage = asObject(value);
  if (!usage) return undefined;
  const thoughts = asNumber(field(usage, "thoughtsTokenCount"));
  const candidates = asNumber(field(usage, "candidatesTokenCount"));
  const asked = asNumber(field(usage, "promptTokenCount"));
  const found = defined({
    promptTokens: asked === undefined ? undefined : asked + (asNumber(field(usage, "toolUsePromptTokenCount")) ?? 0),
    // Thoughts are billed as output but counted apart.
    completionTokens:
      candidates === undefined && thoughts === undefined ? undefined : (candidates ?? 0) + (thoughts ?? 0),
    cachedTokens: asNumber(field(usage, "cachedContentTokenCount")),
    reasoningTokens: thoughts,
  });
  return Object.keys(found).length > 0 ? found : undefined;
}

function readEvents(events: readonly unknown[]): WireReply {
  const whole: Json = {};
  const found: { facts: Json; parts: Json[] }[] = []; // by the candidate's index
  for (const { candidates, ...rest } of objectsOf(events)) {
    Object.assign(whole, rest);
    for (const { content, ...facts } of objectsOf(candidates)) {
      const one = (found[Math.min(asNumber(facts["index"]) ?? 0, 1000)] ??= { facts: {}, parts: [] });
      Object.assign(one.facts, facts);
      one.parts.push(...partsOf(content));
    }
  }
  const joined = found.filter(Boolean).map(({ facts, parts }) => ({ ...facts, content: { parts } }));
  return readReply({ ...whole, candidates: joined });
}

function writeParts(reply: Pick<WireReply, "text" | "reasoning" | "toolCalls">): Json[] {
  return [
    ...(reply.reasoning ? [{ text: reply.reasoning, thought: true }] : []),
    ...(reply.text ? [{ text: reply.text }] : []),
    ...reply.toolCalls.map(({ name, arguments: text }) => ({ functionCall: { name, args: parseJson(text) ?? {} } })),
  ];
}

function writeChunk(reply: WireReply, parts: Json[], last: boolean): Json {
  const { promptTokens = 0, completionTokens = 0, cachedTokens, reasoningTokens } = reply.usage ?? {};
  const finish = reply.finish === "length" ? "MAX_TOKENS" : reply.finish === "refusal" ? "SAFETY" : "STOP";
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...(last && { finishReason: finish }) }],
    ...(last &&
      reply.usage && {
        usageMetadata: defined({
          promptTokenCount: promptTokens,
          candidatesTokenCount: completionTokens - (reasoningTokens ?? 0),
          totalTokenCount: promptTokens + completionTokens,
          cachedContentTokenCount: cachedTokens,
          thoughtsTokenCount: reasoningTokens,
        }),
      }),
    ...(reply.model && { modelVersion: reply.model }),
    ...(reply.responseId && { responseId: reply.responseId }),
  };
}

export const gemini: WireApi = {
  name: "gemini",
  framing: "sse",
  lastEvent: /"finishReason"/,
  matches: (path) => /:(?:stream)?[gG]enerateContent$/.test(path),
  // Google's own tools wrap the request once more, for servers that are not this API.
  accepts: (body) => asObject(body["request"]) === undefined,
  readRequest(body, path) {
    const settings = asObject(field(body, "generationConfig")) ?? {};
    const system = partsOf(field(body, "systemInstruction"));
    const contents =
      typeof body["contents"] === "string" ? [{ role: "user", parts: body["contents"] }] : objectsOf(body["contents"]);
    const request: WireRequest = {
      ...defined({
        model: decodeURIComponent(/models\/([^:/]+):/.exec(path)?.[1] ?? asText(body["model"])) || undefined,
        stream: path.includes(":stream") ? true : undefined,
        maxTokens: asNumber(field(settings, "maxOutputTokens")),
        temperature: asNumber(settings["temperature"]),
        topP: asNumber(field(settings, "topP")),
        seed: asNumber(settings["seed"]),
        stop: readStop(field(settings, "stopSequences")),
        samples: asNumber(field(settings, "candidateCount")),
        toolChoice: field(asObject(field(body, "toolConfig")), "functionCallingConfig"),
        responseFormat: field(settings, "responseJsonSchema") ?? field(settings, "responseSchema") ?? undefined,
      }),
      messages: [
        ...(system.length > 0 ? [{ role: "system" as const, content: readParts(system).text }] : []),
        ...contents.flatMap(readContent),
      ],
      tools: readDeclarations(body["tools"]),
    };
    fillCallIds(request.messages);
    if (contents.some((content) => readParts(partsOf(content)).media)) lose(request, "media");
    if (field(body, "cachedContent")) lose(request, "server-history");
    return request;
  },
  readReply,
  readEvents,
  replyWriter: (facts) =>
    flatWriter(facts, {
      added: (added, reply) => [writeChunk(reply, writeParts(added), false)],
      end: (reply) => [writeChunk(reply, [], true)],
      whole: (reply) => writeChunk(reply, writeParts(reply), reply.finished),
    }),
  limitReply: (body, maxTokens) => ({
    ...body,
    generationConfig: { ...asObject(field(body, "generationConfig")), maxOutputTokens: maxTokens },
  }),
};
