import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { TeamRun } from "../../core/team-run.ts";
import { readRecordings } from "../recordings.ts";
import { refusedForTraining } from "../trainable.ts";

const root = await mkdtemp(join(tmpdir(), "coa-causes-"));
interface Asked {
  messages: { role: string; content: string }[];
}

/** A manager that asks one worker, who searches; no text tells one task's calls from another's. */
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const { messages } = JSON.parse(text) as Asked;
  const manager = messages[0]?.content === "manager";
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const call = (name: string, input: object) => ({
    content: "",
    tool_calls: [{ id: "call_1", type: "function", function: { name, arguments: JSON.stringify(input) } }],
  });
  let message: object = { content: manager ? "Five days." : "Five." };
  if (turn === 0) message = manager ? call("worker", { task: "Look it up." }) : call("search", { query: "leave" });
  response.setHeader("content-type", "application/json");
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  response.end(JSON.stringify({ choices: [{ message: { role: "assistant", ...message } }], usage }));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`;
after(async () => {
  server.close();
  server.closeAllConnections();
  await rm(root, { recursive: true, force: true });
});

/** A team as a plain loop over `post(body)`, which each client brings. */
const team = `
const tools = (name) => [{ type: "function", function: { name, parameters: { type: "object" } } }];
async function agent(who, task) {
  const messages = [{ role: "system", content: who }, { role: "user", content: task }];
  for (;;) {
    const { choices: [{ message }] } = await post({ model: "m", messages, tools: tools(who === "manager" ? "worker" : "search") });
    messages.push(message);
    if (!message.tool_calls) return message.content;
    for (const { id, function: call } of message.tool_calls) {
      const content = call.name === "worker" ? await agent("worker", "Look it up.") : "Five days of leave.";
      messages.push({ role: "tool", tool_call_id: id, content });
    }
  }
}
const task = () => agent("manager", "How many days of leave carry over?");
`;

const clients = {
  fetch: `const post = async (body) => (await fetch(url, { method: "POST", body: JSON.stringify(body) })).json();`,
  "callbacks on node:http": `
    import { request } from "node:http";
    const post = (body) => new Promise((resolve, reject) => {
      const sent = request(url, { method: "POST" }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => (text += chunk));
        answer.on("end", () => resolve(JSON.parse(text)));
      });
      sent.on("error", reject);
      sent.end(JSON.stringify(body));
    });`,
  "a queue of its own that sends later": `
    const waiting = [];
    const timer = setInterval(() => { for (const send of waiting.splice(0)) send(); }, 1);
    import { AsyncResource } from "node:async_hooks";
    const post = (body) => new Promise((resolve) => waiting.push(AsyncResource.bind(async () => {
      resolve(await (await fetch(url, { method: "POST", body: JSON.stringify(body) })).json());
    })));`,
  "two at a time": `
    let free = 2;
    const waiting = [];
    const post = async (body) => {
      if (free === 0) await new Promise((resolve) => waiting.push(resolve));
      free--;
      const answer = await (await fetch(url, { method: "POST", body: JSON.stringify(body) })).json();
      free++;
      waiting.shift()?.();
      return answer;
    };`,
};

async function record(client: string, work: string): Promise<TeamRun[]> {
  const folder = await mkdtemp(join(root, "f-"));
  const register = join(import.meta.dirname, "../register.ts");
  const code = `const url = ${JSON.stringify(url)};${client}${team}${work}`;
  const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", code], {
    env: { ...process.env, COA_RECORD_DIR: folder },
    stdio: ["ignore", "ignore", "inherit"],
  });
  assert.equal(await new Promise((resolve) => child.once("exit", resolve)), 0);
  return readRecordings(folder);
}

function checkRun(run: TeamRun): void {
  assert.deepEqual(
    run.agents.map(({ name }) => name),
    ["manager", "worker"],
  );
  assert.equal(run.steps.length, 4);
  assert.equal(run.answer, "Five days.");
}

describe("the flow of a program through its calls", () => {
  for (const [name, client] of Object.entries(clients)) {
    it(`keeps four equal tasks apart that run at once over ${name}, though their ids and texts are equal`, async () => {
      const runs = await record(client, "await Promise.all([task(), task(), task(), task()]); process.exit();");
      const right = runs.filter((run) => refusedForTraining(run) === null);
      for (const run of right) checkRun(run);
      if (name === "two at a time") {
        assert.equal(
          runs.reduce((sum, run) => sum + run.steps.length, 0),
          16,
        );
        return; // whose turn it is may be told by another task: then the run says that it is inferred or refuses
      }
      assert.equal(right.length, 4);
      assert.ok(right.every(({ completeness }) => completeness.inferred === undefined));
    });
  }

  it("keeps tasks apart that one loop runs in turn, one after the other", async () => {
    const runs = await record(clients.fetch, "for (let n = 0; n < 3; n++) await task();");
    assert.equal(runs.length, 3);
    for (const run of runs) {
      checkRun(run);
      assert.equal(run.completeness.inferred, undefined);
    }
  });
});
