/**
 * A model on loopback that speaks every API of `src/base/wire` and follows a script: it knows which agent asks by its
 * instructions and answers as that one would. Each reply and each tool result holds a mark of its own, and the key of a
 * request says of which task it is, so that the truth of a recording is known.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as bodyOf } from "node:stream/consumers";
import { apiOf } from "../../src/base/wire/apis.ts";
import { writeEvents, writeReply } from "../../src/base/wire/reply-writer.ts";
import { frameEvent, type WireReply, type WireRequest } from "../../src/base/wire/wire-api.ts";
import { asObject } from "../../src/core/json-value.ts";
import { play } from "./script.ts";

/** One served call. */
export interface TrueCall {
  /** The response's id. */
  id: string;
  /** From the request's key. */
  task: string;
  role: string;
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  /** Its text, or what it gives to a tool for answers, is an answer; the last of a task is the answer. */
  final: boolean;
}

export interface ScriptedModel {
  origin: string;
  served: TrueCall[];
  /** Requests that no script answers. */
  unknown: string[];
  close(): Promise<void>;
}

/** Starts the server on a free port. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const served: TrueCall[] = [];
  const unknown: string[] = [];
  let count = 0;
  const server = createServer(async (request, response) => {
    const send = (status: number, body: string, type = "application/json") => {
      response.writeHead(status, { "content-type": type });
      response.end(body);
    };
    if (request.method === "GET") return send(200, '{"object":"list","data":[{"id":"scripted","object":"model"}]}');
    const raw = await bodyOf(request);
    const body = asObject(JSON.parse(raw)) ?? {};
    const api = apiOf(request.url ?? "", body);
    if (!api) {
      unknown.push(`${request.method} ${request.url}`);
      return send(404, '{"error":{"message":"no such path"}}');
    }
    const asked: WireRequest = api.readRequest(body, request.url ?? "");
    const number = ++count;
    const said = play(asked);
    const mark = (text: string) => text.replaceAll("{N}", `[n${number}]`);
    if (said.role === "?") unknown.push(JSON.stringify(asked.messages).slice(0, 2000));
    const stops = [body["stop"] ?? body["stop_sequences"] ?? []].flat().map(String);
    const text = stops.reduce((whole, stop) => whole.split(stop)[0]!, mark(said.text));
    const toolCalls = (said.calls ?? []).map(([name, input], index) => ({
      id: `call_${number}_${index}`,
      name,
      arguments: mark(JSON.stringify(input)),
    }));
    const id = `r${number}`;
    const key =
      request.headers.authorization ?? String(request.headers["x-api-key"] ?? request.headers["api-key"] ?? "");
    const task = /task-(\d+)/.exec(key)?.[1] ?? "?";
    served.push({ id, task, role: said.role, text, calls: toolCalls, final: said.final ?? false });
    const usage = { promptTokens: Math.ceil(raw.length / 4), completionTokens: Math.ceil(text.length / 4) + 5 };
    const finish = toolCalls.length > 0 ? "tool_calls" : "stop";
    const reply: WireReply = {
      text,
      toolCalls,
      finish,
      finished: true,
      usage,
      responseId: id,
      model: asked.model ?? "m",
    };
    await new Promise((done) => setTimeout(done, 20)); // so that tasks at once are at once
    if (!asked.stream) return send(200, JSON.stringify(writeReply(api, reply)));
    const events = writeEvents(api, reply, text.split(/(?<= )/));
    send(200, events.map((event) => frameEvent(api, event)).join(""), "text/event-stream");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    served,
    unknown,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
