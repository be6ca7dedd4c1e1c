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

const root = await mkdtemp(join(tmpdir(), "coa-background-"));
const asked = new Map<string, number>();

/** Says to wait when it is asked and once more when the answer is fetched. */
const server = createServer((request, response) => {
  const id = request.method === "POST" ? `resp_${asked.size + 1}` : request.url!.split("/").at(-1)!;
  const times = asked.get(id) ?? 0;
  asked.set(id, times + 1);
  const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: `Answer ${id}.` }] };
  const body = {
    id,
    object: "response",
    background: true,
    ...(times < 2
      ? { status: times === 0 ? "queued" : "in_progress", output: [] }
      : { status: "completed", output: [message], usage: { input_tokens: 7, output_tokens: 3 } }),
  };
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
after(async () => {
  server.close();
  server.closeAllConnections();
  await rm(root, { recursive: true, force: true });
});

/** Asks, and fetches until there is an answer; `send` is one kind of client. */
const poll = async (base: string, send: (method: string, url: string, body?: string) => Promise<string>) => {
  const question = JSON.stringify({ model: "m", input: "When?", background: true });
  let reply = JSON.parse(await send("POST", `${base}/v1/responses`, question));
  while (reply.status !== "completed") reply = JSON.parse(await send("GET", `${base}/v1/responses/${reply.id}`));
  return reply.id as string;
};
const byFetch = async (method: string, url: string, body?: string) =>
  (await fetch(url, { method, ...(body !== undefined && { body }) })).text();

async function check(folder: string, ids: readonly string[]): Promise<void> {
  const runs = await readRecordings(folder);
  assert.deepEqual(
    runs.map((run) => [run.answer, run.usage.modelCalls, run.usage.completionTokens, refusedForTraining(run)]),
    ids.map((id) => [`Answer ${id}.`, 1, 3, null]),
  );
}

describe("responses in the background", () => {
  it("are recorded with the answer that the client fetched, through the proxy, and cost one call", async () => {
    const folder = join(root, "proxy");
    const proxy = await startProxy({ to: origin, folder, budget: { total: { calls: 1 } } });
    const id = await poll(proxy.origin, byFetch);
    assert.equal(proxy.budget?.spent().calls, 1);
    assert.deepEqual(proxy.unrecorded(), []);
    await proxy.close();
    await check(folder, [id]);
    const replay = await startProxy({ mode: "replay", folder });
    const answer = await (await fetch(`${replay.origin}/v1/responses/${id}`)).json();
    assert.equal((answer as { status: string }).status, "completed");
    await replay.close();
  });

  it("are recorded so by the preload, whichever client fetches", async () => {
    const folder = join(root, "preload");
    const program = `
      import { request } from "node:http";
      import { request as undici } from "undici";
      const poll = ${poll.toString()};
      const clients = [
        ${byFetch.toString()},
        (method, url, body) => new Promise((resolve, reject) => {
          const sent = request(url, { method }, (answer) => {
            let text = "";
            answer.on("data", (chunk) => (text += chunk));
            answer.on("end", () => resolve(text));
          });
          sent.on("error", reject);
          sent.end(body);
        }),
        async (method, url, body) => (await undici(url, { method, body })).body.text(),
      ];
      const ids = [];
      for (const send of clients) ids.push(await poll(${JSON.stringify(origin)}, send));
      console.log(JSON.stringify(ids));`;
    const register = join(import.meta.dirname, "../../src/record/register.ts");
    const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", program], {
      cwd: import.meta.dirname,
      env: { ...process.env, COA_RECORD_DIR: folder, COA_BUDGET: '{"total":{"calls":3}}' },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0);
    await check(folder, JSON.parse(said) as string[]);
  });
});
