/**
 * What the AI SDK publishes on its tracing channel (`ai:telemetry`), written to a file line by line. Each
 * `languageModelCall` is one model call. A streamed reply is not in the events: it is read from the next call of the same
 * generation, and the last one stays unknown, which the run says.
 */
import { asArray, asNumber, asObject, asString, type Json } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import type { RecordedCall } from "../recorded-call.ts";
import { endAndLosses, readSdkMessage } from "./genai-messages.ts";

const types = new Set(["generateText", "streamText", "step", "languageModelCall", "executeTool", "generateObject"]);

/** Whether a record is an event of the channel. */
export function isAiSdkEvent(record: Json): boolean {
  return types.has(String(record["type"])) && asString(asObject(record["event"])?.["callId"]) !== undefined;
}

/** The model calls of a file of events, in the order of its lines. */
export function aiSdkEventsToCalls(records: readonly Json[]): RecordedCall[] {
  const found = new Map<string, { generation: string; call: RecordedCall; replied: boolean }>();
  for (const [index, record] of records.entries()) {
    if (record["type"] !== "languageModelCall") continue;
    const event = asObject(record["event"]) ?? {};
    const generation = asString(event["callId"]) ?? "";
    const messages = promptOf(event);
    const key = `${generation} ${messages.length}`;
    const reply = replyOf(asObject(record["result"]) ?? {});
    // The same message is published when a call starts and when it ends.
    if (!reply && found.get(key)?.replied) continue;
    found.set(key, { generation, replied: reply !== undefined, call: callOf(event, messages, reply, index) });
  }
  const calls = [...found.values()];
  for (const [index, one] of calls.entries()) {
    if (one.replied) continue;
    const next = calls.slice(index + 1).find(({ generation }) => generation === one.generation);
    const said = next?.call.messages[one.call.messages.length];
    if (said?.role === "assistant") Object.assign(one.call, { text: said.content, toolCalls: said.toolCalls ?? [] });
  }
  return calls.map(({ call }) => call);
}

function promptOf(event: Json): Message[] {
  const system = asString(event["instructions"]) ?? asString(event["system"]);
  const messages = asArray(event["messages"]).flatMap((item) => readSdkMessage(asObject(item) ?? {}));
  return [...(system ? [{ role: "system" as const, content: system }] : []), ...messages];
}

interface Reply {
  said: Message | undefined;
  usage: Json;
  response: Json;
  finish: unknown;
}

function replyOf(result: Json): Reply | undefined {
  if (!Array.isArray(result["content"])) return undefined;
  const [said] = readSdkMessage({ role: "assistant", content: result["content"] });
  return {
    said,
    usage: asObject(result["usage"]) ?? {},
    response: asObject(result["response"]) ?? {},
    finish: result["finishReason"],
  };
}

function callOf(event: Json, messages: Message[], reply: Reply | undefined, index: number): RecordedCall {
  const count = (value: unknown) => asNumber(value) ?? asNumber(asObject(value)?.["total"]) ?? 0;
  const responseId = asString(reply?.response["id"]);
  const model = asString(event["modelId"]);
  return {
    id: `call-${index + 1}`,
    startedAt: index * 2,
    endedAt: index * 2 + 1,
    ...(model && { model }),
    messages,
    tools: asArray(event["tools"]).flatMap((item) => {
      const { name, description, inputSchema } = asObject(item) ?? {};
      if (typeof name !== "string") return [];
      return [{ name, ...(typeof description === "string" && { description }), parameters: inputSchema }];
    }),
    text: reply?.said?.content ?? "",
    ...(reply?.said?.reasoning && { reasoning: reply.said.reasoning }),
    toolCalls: reply?.said?.toolCalls ?? [],
    ...endAndLosses(reply?.finish, event["messages"]),
    promptTokens: count(reply?.usage["inputTokens"]),
    completionTokens: count(reply?.usage["outputTokens"]),
    ...(responseId && { responseId }),
    outcome: "complete",
    ...(!reply && { notes: ["streamed replies are not in these events: they are read from the calls after them"] }),
  };
}
