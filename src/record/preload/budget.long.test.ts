import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { BudgetOptions } from "../budget.ts";

const root = await mkdtemp(join(tmpdir(), "coa-preload-budget-"));
interface Asked {
  max_tokens?: number;
  max_completion_tokens?: number;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}
let served = { calls: 0, tokens: 0, usd: 0, refused: 0, unlimited: 0 };

/** A server that charges 10 prompt tokens, 4 of them cached, and 6 of reply, 2 of them reasoning; every fifth call fails first. */
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const body = JSON.parse(text) as Asked;
  if (request.headers["x-fail"] && ++served.refused % 5 === 1) return void response.writeHead(429).end("{}");
  const most = body.max_completion_tokens ?? body.max_tokens;
  if (most === undefined) served.unlimited++;
  const completion = Math.min(6, most ?? 6);
  served.calls++;
  served.tokens += 10 + completion;
  served.usd += (6 * 1 + 4 * 0.1 + (completion - Math.min(2, completion)) * 10 + Math.min(2, completion) * 20) / 1e6;
  const usage = {
    prompt_tokens: 10,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: Math.min(2, completion) },
  };
  const message = { role: "assistant", content: "one two three" };
  await new Promise((resolve) => setImmediate(resolve));
  if (!body.stream) {
    response.setHeader("content-type", "application/json");
    return void response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }], usage }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`data: ${JSON.stringify({ choices: [{ delta: message, finish_reason: "stop" }] })}\n\n`);
  if (body.stream_options?.include_usage) response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`);
  response.end("data: [DONE]\n\n");
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`;
after(async () => {
  server.close();
  server.closeAllConnections();
  await rm(root, { recursive: true, force: true });
});

const undici = import.meta.resolve("undici");
/** `post(body)` gives the status, by each kind of client. */
const clients = {
  fetch: `const post = async (body) => {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(body), headers: body.headers ?? {} });
    await answer.text();
    return answer.status;
  };`,
  "node:http": `
    const { request } = await import("node:http");
    const post = (body) => new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const sent = request(url, { method: "POST", headers: { "content-length": text.length } }, (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode));
      });
      sent.on("error", reject);
      sent.write(text.slice(0, 20));
      sent.end(text.slice(20));
    });`,
  undici: `
    const { request } = await import(${JSON.stringify(undici)});
    const post = async (body) => {
      try {
        const answer = await request(url, { method: "POST", body: JSON.stringify(body) });
        await answer.body.text();
        return answer.statusCode;
      } catch (error) {
        if (/budget/.test(String(error))) return 402;
        throw error;
      }
    };`,
};

/** Eight workers call until they are refused; gives how many calls were answered with each status. */
async function eightWorkers(client: string, budget: BudgetOptions, body: object): Promise<Record<string, number>> {
  served = { calls: 0, tokens: 0, usd: 0, refused: 0, unlimited: 0 };
  const code = `const url = ${JSON.stringify(url)};${client}
    const counts = {};
    const messages = [{ role: "user", content: "Question number one of the worker" }];
    await Promise.all(Array.from({ length: 8 }, async () => {
      for (let call = 0; call < 40; call++) {
        const status = await post({ model: "m", messages, ...${JSON.stringify(body)} });
        counts[status] = (counts[status] ?? 0) + 1;
        if (status === 402) return;
      }
    }));
    console.log(JSON.stringify(counts));`;
  const register = join(import.meta.dirname, "../register.ts");
  const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", code], {
    env: { ...process.env, COA_RECORD_DIR: await mkdtemp(join(root, "f-")), COA_BUDGET: JSON.stringify(budget) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, errors] = ["", ""];
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0, errors);
  assert.match(errors, /chain-of-agents: spent \d+ calls/);
  return JSON.parse(out) as Record<string, number>;
}

/** Prompts are estimated by three bytes a token: below that, nothing is left that a call could use. */
const promptEstimate = 60;

describe("a budget inside the process, with eight workers at once", () => {
  for (const [name, client] of Object.entries(clients)) {
    it(`makes exactly the calls that ${name} may make`, async () => {
      const counts = await eightWorkers(client, { total: { calls: 20 } }, {});
      assert.equal(served.calls, 20);
      assert.deepEqual(counts, { 200: 20, 402: 8 });
    });
  }

  for (const name of ["fetch", "node:http"] as const) {
    it(`never spends more tokens than it has over ${name}, and refuses no call that fits`, async () => {
      const counts = await eightWorkers(clients[name], { total: { tokens: 600 } }, {});
      assert.ok(served.tokens <= 600, `${served.tokens} tokens`);
      assert.ok(served.tokens > 600 - promptEstimate - 16, `only ${served.tokens} tokens were used`);
      assert.equal(served.unlimited, 0, "each reply has a limit that the budget can pay");
      assert.equal(counts["402"], 8);
    });
  }

  it("counts streams by the usage that it asks for, with the prices of cached and reasoning tokens", async () => {
    const prices = { "*": { input: 1, output: 10, cachedInput: 0.1, reasoning: 20 } };
    await eightWorkers(clients.fetch, { total: { usd: 0.004 }, prices }, { stream: true });
    assert.ok(served.usd <= 0.004, `$${served.usd}`);
    assert.ok(served.usd > 0.004 - (promptEstimate * 1 + 20) / 1e6 - 100 / 1e6, `only $${served.usd} was used`);
  });

  it("counts a call that is tried again once", async () => {
    const counts = await eightWorkers(clients.fetch, { total: { calls: 20 } }, { headers: { "x-fail": "1" } });
    assert.equal(served.calls, 20);
    assert.equal(counts["200"], 20);
    assert.ok((counts["429"] ?? 0) > 0);
  });
});
