/**
 * Mistral's Conversations API, as far as a recorder has to read it: the server keeps the history under the conversation's
 * id, each request brings the new entries. Its entries are OpenAI's items by other names, so they are read as those.
 */
import { asObject, asString, asText, type Json, objectsOf } from "../../core/json-value.ts";
import { openaiResponses } from "./openai-responses.ts";
import { errorText, lose, noReply, type WireApi, type WireReply } from "./wire-api.ts";

const place = /\/conversations(?:\/([^/?]+)(\/restart)?)?$/;

function toItem(entry: Json): Json {
  const { type, tool_call_id: id, result, ...rest } = entry;
  if (type === "function.call") return { ...rest, type: "function_call", call_id: id };
  if (type === "function.result") return { type: "function_call_output", call_id: id, output: result };
  // What the server ran, another of its agents too, is told by name and arguments alone.
  if (type === "tool.execution" || type === "agent.handoff")
    return { ...rest, type: `${asText(entry["name"] ?? type)}_call`, info: undefined };
  return { role: type === "message.output" ? "assistant" : "user", ...rest, type: "message" };
}

function readReply(json: Json): WireReply {
  if (!Array.isArray(json["outputs"]))
    return { ...noReply(), error: errorText(json["message"] ?? json["detail"] ?? json) };
  // Every answer of one conversation has its id: what comes next points at the latest.
  const { usage, conversation_id: id } = json;
  return openaiResponses.readReply({ id, usage, output: objectsOf(json["outputs"]).map(toItem) });
}

/** Entries come in pieces, each named by its id: texts and arguments are to be joined. */
function readEvents(events: readonly unknown[]): WireReply {
  const reply = noReply();
  const outputs = new Map<string, Json>();
  let id: unknown;
  for (const json of objectsOf(events)) {
    const kind = asText(json["type"]);
    id ??= json["conversation_id"];
    if (kind === "conversation.response.error") reply.error = errorText(json);
    if (kind === "conversation.response.done")
      Object.assign(reply, readReply({ conversation_id: id, usage: json["usage"], outputs: [...outputs.values()] }));
    const type = /^(message\.output|function\.call|tool\.execution|agent\.handoff)\.(?:delta|started|done)$/.exec(
      kind,
    )?.[1];
    if (type === undefined) continue;
    const key = `${type} ${asText(json["id"])} ${asText(json["tool_call_id"])}`;
    const { content = [], arguments: written = "" } = outputs.get(key) ?? {};
    const said = asString(json["content"]) ?? json["content"];
    const pieces = said === undefined ? [] : [typeof said === "string" ? { type: "text", text: said } : said];
    const joined = {
      content: [...objectsOf(content), ...pieces],
      arguments: asText(written) + asText(json["arguments"]),
    };
    outputs.set(key, { ...json, type, ...joined });
  }
  return reply;
}

export const mistralConversations: WireApi = {
  ...openaiResponses,
  name: "mistral-conversations",
  framing: "named-sse",
  lastEvent: /"type": ?"conversation\.response\.(?:done|error)"/,
  matches: (path) => place.test(path),
  // OpenAI's conversations have the same path, and are no calls of a model.
  accepts: (body) => body["inputs"] !== undefined,
  readRequest(body, path) {
    const { inputs, completion_args: settings } = body;
    const [, previous, restart] = place.exec(path.split("?")[0]!) ?? [];
    const input = typeof inputs === "string" ? inputs : objectsOf(inputs).map(toItem);
    const { max_tokens, ...given } = { ...asObject(settings) };
    const request = openaiResponses.readRequest(
      { ...body, ...given, max_output_tokens: max_tokens, input, previous_response_id: previous },
      path,
    );
    // An agent's instructions stay on the server, and so does where a restart begins.
    if (body["agent_id"] !== undefined || restart) lose(request, "server-history");
    return request;
  },
  readReply,
  readEvents,
  limitReply: (body, maxTokens) => ({
    ...body,
    completion_args: { ...asObject(body["completion_args"]), max_tokens: maxTokens },
  }),
};
