import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { refusedForTraining } from "../../src/record/trainable.ts";

type Entry = Record<string, unknown>;
const root = await mkdtemp(join(tmpdir(), "coa-mistral-"));
let conversations = 0;

/** Answers a question by a call of `look`, its result by a text; streamed as Mistral does where asked. */
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const body = JSON.parse(text) as { inputs?: unknown; stream?: boolean; messages?: { content: string }[] };
  response.setHeader("content-type", body.stream ? "text/event-stream" : "application/json");
  if (body.messages) {
    const message = { role: "assistant", content: `Translated: ${body.messages.at(-1)!.content}` };
    return response.end(JSON.stringify({ id: "chat-1", choices: [{ message, finish_reason: "stop" }] }));
  }
  if (body.inputs === undefined) return response.end(JSON.stringify({ id: "conv_1", object: "conversation" }));
  const id = /conversations\/([^/]+)/.exec(request.url!)?.[1] ?? `conv_${++conversations}`;
  const last = [body.inputs].flat().at(-1) as string | Entry;
  const result = typeof last === "object" ? last["result"] : undefined;
  const output: Entry =
    result === undefined
      ? { type: "function.call", id: "fc_1", tool_call_id: `look_${id}`, name: "look", arguments: '{"at":"sky"}' }
      : { type: "message.output", id: "msg_1", role: "assistant", content: `It shows ${result} tonight.` };
  const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
  if (!body.stream)
    return response.end(
      JSON.stringify({ object: "conversation.response", conversation_id: id, outputs: [output], usage }),
    );
  const field = result === undefined ? "arguments" : "content";
  const whole = String(output[field]);
  const pieces = [whole.slice(0, 4), whole.slice(4)].map((piece) => ({
    ...output,
    type: `${output["type"]}.delta`,
    [field]: piece,
  }));
  for (const event of [
    { type: "conversation.response.started", conversation_id: id },
    ...pieces,
    { type: "conversation.response.done", usage },
  ])
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
after(async () => {
  server.close();
  server.closeAllConnections();
  await rm(root, { recursive: true, force: true });
});

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
const start = { model: "mistral-large-latest", instructions: "You are the watcher.", tools };

async function ask(base: string, question: string, more: object = {}): Promise<void> {
  const send = async (path: string, body: object) =>
    (await fetch(base + path, { method: "POST", body: JSON.stringify(body) })).text();
  const reply = await send("/v1/conversations", { ...start, inputs: question, ...more });
  const id = /conv_\d+/.exec(reply)![0];
  const result = { type: "function.result", tool_call_id: `look_${id}`, result: `stars over ${question.length}` };
  await send(`/v1/conversations/${id}`, { inputs: [result], ...more });
}

async function recorded(folder: string) {
  const runs = await readRecordings(folder);
  return runs.map((run) => ({
    question: run.question,
    answer: run.answer,
    calls: run.steps.flatMap(({ toolCalls }) =>
      toolCalls.map(({ name, arguments: given, result }) => [name, given, result]),
    ),
    tokens: run.usage.completionTokens,
    refused: refusedForTraining(run),
  }));
}
const questions = ["What is above the old harbour now?", "And what is above the hills, please?"];
const right = (question: string) => ({
  question,
  answer: `It shows stars over ${question.length} tonight.`,
  calls: [["look", '{"at":"sky"}', `stars over ${question.length}`]],
  tokens: 10,
  refused: null,
});

describe("Mistral's conversations", () => {
  for (const stream of [false, true]) {
    it(`are one run each through the proxy${stream ? ", streamed" : ""}`, async () => {
      const folder = join(root, `proxy-${stream}`);
      const proxy = await startProxy({ to: origin, folder });
      await Promise.all(questions.map((question) => ask(proxy.origin, question, { stream })));
      assert.deepEqual(proxy.unrecorded(), []);
      await proxy.close();
      const runs = await recorded(folder);
      assert.deepEqual(
        runs.toSorted((a, b) => questions.indexOf(a.question) - questions.indexOf(b.question)),
        questions.map(right),
      );
    });
  }

  it("are refused where an agent of the server has the instructions, or a restart cuts the history", async () => {
    const folder = join(root, "agent");
    const proxy = await startProxy({ to: origin, folder });
    await ask(proxy.origin, questions[0]!, { agent_id: "ag_1", model: undefined, instructions: undefined });
    const again = { inputs: questions[1], from_entry_id: "msg_1" };
    await (
      await fetch(`${proxy.origin}/v1/conversations/conv_1/restart`, { method: "POST", body: JSON.stringify(again) })
    ).text();
    await proxy.close();
    const runs = await recorded(folder);
    assert.ok(runs.length > 0);
    for (const { refused } of runs) assert.match(refused ?? "", /stayed on the server/);
  });

  it("are not OpenAI's conversations, which pass as they are", async () => {
    const folder = join(root, "openai");
    const proxy = await startProxy({ to: origin, folder });
    await (await fetch(`${proxy.origin}/v1/conversations`, { method: "POST", body: '{"metadata":{}}' })).text();
    assert.deepEqual(
      proxy.unrecorded().map(({ what }) => what),
      ["POST /v1/conversations"],
    );
    await proxy.close();
    assert.deepEqual(await readRecordings(folder), []);
  });

  it("are recorded inside a Node process, with what its own code does with the reply", async () => {
    const folder = join(root, "preload");
    const program = `
      const [origin, question, start] = ${JSON.stringify([origin, questions[0], start])};
      const post = async (path, body) => (await fetch(origin + path, { method: "POST", body: JSON.stringify(body) })).json();
      const first = await post("/v1/conversations", { ...start, inputs: question });
      const id = first.conversation_id;
      const result = { type: "function.result", tool_call_id: first.outputs[0].tool_call_id, result: "a red moon" };
      const said = (await post("/v1/conversations/" + id, { inputs: [result] })).outputs[0].content;
      const messages = [{ role: "system", content: "You are the translator." }, { role: "user", content: said }];
      await post("/v1/chat/completions", { model: "m", messages });`;
    const register = join(import.meta.dirname, "../../src/record/register.ts");
    const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", program], {
      env: { ...process.env, COA_RECORD_DIR: folder },
      stdio: ["ignore", "inherit", "inherit"],
    });
    assert.equal(await new Promise((done) => child.once("close", done)), 0);
    const runs = await readRecordings(folder);
    assert.deepEqual(
      runs.map((run) => [run.question, run.answer, run.agents.length, run.steps.length, refusedForTraining(run)]),
      [[questions[0], "Translated: It shows a red moon tonight.", 2, 3, null]],
    );
  });
});
