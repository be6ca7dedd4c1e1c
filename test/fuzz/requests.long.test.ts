/** Bodies that no client writes, sent to every route of a served chain: each is answered, none with 500. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { chainHandler } from "../../src/serve/chain-handler.ts";
import { scriptedModel, tableTool } from "../../src/testing/index.ts";
import { byteTokenizer } from "../fixtures/conformance/byte-tokenizer.ts";
import { fuzz, mutated } from "./fuzz.ts";

const schema = {
  type: "object",
  properties: { city: { type: "string", pattern: "^[A-Z]" }, n: { type: "integer" }, next: { anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] } },
  required: ["city"],
  $defs: { a: { type: "object", properties: { next: { $ref: "#" }, a: { type: "array", items: { $ref: "#/$defs/a" } } } } },
}; // biome-ignore format: one schema
const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "Hello" }] },
  { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"city":"Lyon"}' } }] }, // biome-ignore format: one message
  { role: "tool", tool_call_id: "call_1", content: "rain" },
  { role: "user", content: "Where does Ada live?" },
];
const tools = [{ type: "function", function: { name: "look", description: "Looks.", parameters: schema } }];
const bodies: Record<string, unknown> = {
  "/v1/chat/completions": { model: "coa", messages, tools, temperature: 0.5, max_tokens: 100, seed: 3, stop: ["x"], tool_choice: "auto", response_format: { type: "json_schema", json_schema: { name: "a", schema } } }, // biome-ignore format: one body
  "/v1/responses": { model: "coa", input: [{ role: "user", content: "Where does Ada live?" }, { type: "function_call", call_id: "c", name: "look", arguments: "{}" }, { type: "function_call_output", call_id: "c", output: "rain" }], tools: [{ type: "function", name: "look", parameters: schema }], text: { format: { type: "text" } }, reasoning: { effort: "low" }, metadata: { a: "b" }, store: true }, // biome-ignore format: one body
  "/v1/messages": { model: "coa", max_tokens: 100, system: [{ type: "text", text: "Be brief." }], messages: [{ role: "user", content: [{ type: "text", text: "Where does Ada live?" }] }, { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "rain" }] }], tools: [{ name: "look", input_schema: schema }] }, // biome-ignore format: one body
  "/v1/completions": {
    model: "coa",
    prompt: [1, 2, 3],
    max_tokens: 5,
    logprobs: 1,
    return_token_ids: true,
    stop: ["."],
  },
  "/v1/chains": { question: "Where does Ada live?", trajectory: { version: 1, id: "t", taskId: "q", profile: "mhqa", model: "m", prompt: [{ role: "user", content: "?" }], segments: [{ tag: "think", text: "x", by: "model", tokens: [1, 2], logprobs: [-1, -1] }], answer: null, ending: { reason: "limit" }, usage: { modelCalls: 1, promptTokens: 1, completionTokens: 1, cachedTokens: 0, billedTokens: 2, computedTokens: 2, toolCalls: 0, toolMs: 0, wallMs: 1, costUsd: 0 } } }, // biome-ignore format: one body
  "/api/chat": { id: "c", messages: [{ role: "user", parts: [{ type: "text", text: "Where does Ada live?" }] }] },
  "/mcp": { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "ask_chain", arguments: { question: "?" }, _meta: { progressToken: 1 } } }, // biome-ignore format: one body
};

it("fuzzed bodies of requests are answered, none with a fault of the server", async (t) => {
  const tokenizer = byteTokenizer();
  const script = () => "<think>t</think><answer>Lyon</answer>";
  const faults: unknown[] = [];
  const model = scriptedModel(script, { tokenizer, chunkSize: 0 });
  const open = () =>
    chainHandler({
      model,
      profile: mhqaProfile,
      toolsOf: () => [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")],
      defaults: { systemPrompt: "Answer.", limits: { maxSteps: 3 } },
      clientTools: true,
      onRequest: ({ error, status, path }) => error !== undefined && status === 500 && faults.push({ path, error }),
    });
  let served = await open();
  const paths = Object.keys(bodies);
  const statuses: Record<number, number> = {};
  const done = await fuzz(
    "requests",
    async (random, number) => {
      if (number % 20_000 === 19_999) served = await open(); // what is stored stays in memory
      model.requests.length = 0; // the model of the test remembers them all
      const path = paths[random.below(paths.length)]!;
      const text = JSON.stringify(mutated(bodies[path], random));
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const answer = await served.fetch(
        new Request(`http://localhost${path}`, { method: "POST", headers, body: text }),
      );
      await answer.text();
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      assert.ok(
        answer.status !== 500,
        `case ${number} ${path} ${text.slice(0, 2000)} ${String((faults.at(-1) as { error?: Error })?.error?.stack)}`,
      );
    },
    () => false,
  );
  t.diagnostic(JSON.stringify({ ...done, statuses }));
});
