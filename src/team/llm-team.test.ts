import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import type { Message } from "../core/message.ts";
import { teamRunSchema } from "../core/team-run.ts";
import type { JsonSchema } from "../core/tool.ts";
import { createWorld } from "../lab/create-world.ts";
import { memoryLabTools } from "../lab/memory-lab-tools.ts";
import { scriptedSpecialists } from "../lab/scripted-specialists.ts";
import { worldTasks } from "../lab/world-tasks.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import * as instructions from "./instructions.ts";
import { runTeam } from "./run-team.ts";

interface WireMessage {
  role: Message["role"];
  content: string | null;
  name?: string;
  tool_call_id?: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
}

interface WireRequest {
  messages: WireMessage[];
  tools?: { type: "function"; function: { name: string; description: string; parameters: JsonSchema } }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

/** What the server counted, by its own rule, over all requests it answered. */
interface Counts {
  promptTokens: number;
  completionTokens: number;
  answered: number;
  refused: number;
  streamed: number;
}

const players = scriptedSpecialists();
const roles: Record<string, keyof ReturnType<typeof scriptedSpecialists>> = {
  [instructions.managerInstructions]: "manager",
  [instructions.searchInstructions]: "search",
  [instructions.readerInstructions]: "reader",
  [instructions.codeInstructions]: "code",
  [instructions.reflectorInstructions]: "reflector",
  [instructions.verifierInstructions]: "verifier",
};

/** An OpenAI-compatible server behind which scripts play the roles: it knows only what came over the wire. */
async function chatServer(faults: { tooMany: number; malformed: number }) {
  const counts: Counts = { promptTokens: 0, completionTokens: 0, answered: 0, refused: 0, streamed: 0 };
  let requests = 0;
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"object":"list","data":[{"id":"scripted","object":"model","owned_by":"test"}]}');
      return;
    }
    void readBody(request).then((body) => answer(JSON.parse(body) as WireRequest, response));
  });
  function answer(request: WireRequest, response: ServerResponse): void {
    requests++;
    if (requests === faults.tooMany) {
      counts.refused++;
      response.writeHead(429, { "retry-after": "0", "content-type": "application/json" });
      response.end('{"error":{"message":"slow down"}}');
      return;
    }
    const role = roles[request.messages[0]!.content ?? ""]!;
    const tools = request.tools?.map((tool) => tool.function);
    const played = players[role]({ messages: fromWire(request.messages), tools });
    const calls = (played.toolCalls ?? []).map((call, index) => ({
      id: `call_${requests}_${index}`,
      type: "function" as const,
      function: { name: call.name, arguments: JSON.stringify(call.input) },
    }));
    // Once, a call's arguments break off in the middle.
    if (requests >= faults.malformed && calls.length > 0 && role === "manager") {
      calls[0]!.function.arguments = calls[0]!.function.arguments.slice(0, 9);
      faults.malformed = Number.POSITIVE_INFINITY;
    }
    const message = {
      role: "assistant",
      content: played.text ?? "",
      reasoning_content: played.reasoning,
      tool_calls: calls,
    };
    const usage = {
      prompt_tokens: Math.ceil(JSON.stringify([request.messages, request.tools]).length / 3),
      completion_tokens: Math.ceil(JSON.stringify(message).length / 3),
      total_tokens: 0,
    };
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
    counts.promptTokens += usage.prompt_tokens;
    counts.completionTokens += usage.completion_tokens;
    counts.answered++;
    const finish = calls.length > 0 ? "tool_calls" : "stop";
    const common = { id: `chat-${requests}`, created: 0, model: "scripted" };
    if (!request.stream) {
      response.writeHead(200, { "content-type": "application/json" });
      const choices = [
        {
          index: 0,
          message: calls.length > 0 ? message : { ...message, tool_calls: undefined },
          finish_reason: finish,
        },
      ];
      response.end(JSON.stringify({ ...common, object: "chat.completion", choices, usage }));
      return;
    }
    counts.streamed++;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta: object, finish_reason: string | null = null) =>
      response.write(
        `data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
      );
    send({ role: "assistant", content: "" });
    if (played.reasoning) send({ reasoning_content: played.reasoning });
    for (const piece of (played.text ?? "").match(/[\s\S]{1,7}/g) ?? []) send({ content: piece });
    calls.forEach((call, index) => {
      send({
        tool_calls: [{ index, id: call.id, type: "function", function: { name: call.function.name, arguments: "" } }],
      });
      for (const piece of call.function.arguments.match(/[\s\S]{1,5}/g) ?? [])
        send({ tool_calls: [{ index, function: { arguments: piece } }] });
    });
    send({}, finish);
    response.write(`data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices: [], usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    counts,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Messages as our scripts read them. */
function fromWire(messages: readonly WireMessage[]): Message[] {
  return messages.map((message) => ({
    role: message.role,
    content: message.content ?? "",
    name: message.name,
    toolCallId: message.tool_call_id,
    toolCalls: message.tool_calls?.map((call) => ({
      id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    })),
  }));
}

describe("a team of LLM roles over HTTP", () => {
  const world = createWorld({ seed: 4, pages: 120, split: "test" });
  const tools = memoryLabTools(world);
  const tasks = worldTasks(world, { count: 10 });
  for (const topology of ["agents-as-tools", "handoff"] as const) {
    for (const stream of [false, true]) {
      it(`solves tasks with ${topology}, ${stream ? "streaming" : "whole replies"}, through a 429 and a malformed reply`, async () => {
        const server = await chatServer({ tooMany: 4, malformed: 12 });
        const model = openaiCompatible({ baseURL: server.baseURL, model: "scripted", retryDelayMs: 1 });
        try {
          const usage = { prompt: 0, completion: 0, billed: 0, calls: 0 };
          let malformed = 0;
          let deltas = 0;
          for (const task of tasks) {
            const run = await runTeam(task, {
              roles: { default: model },
              tools,
              topology,
              stream,
              onEvent: (event) => void (event.type === "text-delta" && deltas++),
            });
            teamRunSchema.parse(run);
            assert.equal(run.answer, task.answers[0], `${task.question} ${run.ending.detail ?? ""}`);
            usage.prompt += run.usage.promptTokens;
            usage.completion += run.usage.completionTokens;
            usage.billed += run.usage.billedTokens;
            usage.calls += run.usage.modelCalls;
            malformed += run.steps
              .flatMap((step) => step.toolCalls)
              .filter((call) => /not JSON/.test(call.error ?? "")).length;
          }
          const { counts } = server;
          assert.deepEqual(usage, {
            prompt: counts.promptTokens,
            completion: counts.completionTokens,
            billed: counts.promptTokens + counts.completionTokens,
            calls: counts.answered,
          });
          assert.equal(counts.refused, 1);
          assert.equal(malformed, 1);
          // The call that was refused is repeated without streaming, so that listeners hear nothing twice.
          assert.equal(counts.streamed, stream ? counts.answered - 1 : 0);
          assert.equal(deltas > 0, stream);
        } finally {
          await model.close();
          server.close();
        }
      });
    }
  }
});
