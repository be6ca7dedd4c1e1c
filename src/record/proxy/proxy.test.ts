import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { testSize } from "../../../test/fixtures/test-size.ts";
import { readCallLogs } from "../call-log.ts";
import { readRecordings } from "../recordings.ts";
import type { WireExchange } from "../wire-exchange.ts";
import { type ProxyOptions, type RecordingProxy, startProxy } from "./start-proxy.ts";

const root = await mkdtemp(join(tmpdir(), "coa-proxy-"));
const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
  await rm(root, { recursive: true, force: true });
});

type Handler = (body: Record<string, unknown>, response: ServerResponse, request: IncomingMessage) => unknown;

async function upstream(handler: Handler): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    await handler(text === "" ? {} : JSON.parse(text), response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

let folders = 0;
async function proxy(
  options: Partial<ProxyOptions>,
): Promise<RecordingProxy & { folder: string; exchanges(): Promise<WireExchange[]> }> {
  const folder = options.folder ?? join(root, `f${folders++}`);
  const started = await startProxy({ ...options, folder });
  closing.push(started.close);
  return { ...started, folder, exchanges: () => Array.fromAsync(readCallLogs(folder)) };
}

const ask = (url: string, body: object, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer very-secret-key-1", ...headers },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

const whole: Handler = (body, response) => {
  const last = (body["messages"] as { content: string }[] | undefined)?.at(-1)?.content ?? "";
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({
      id: "r1",
      model: "m",
      choices: [{ message: { role: "assistant", content: `you said ${last}` }, finish_reason: "stop" }],
      usage: { prompt_tokens: 7, completion_tokens: 3 },
    }),
  );
};
const say = (content: string) => ({ model: "m", messages: [{ role: "user", content }] });
const event = (content: string) =>
  `data: ${JSON.stringify({ id: "s1", choices: [{ index: 0, delta: { content } }] })}\n\n`;
const settled = async (read: () => Promise<WireExchange[]>, count: number): Promise<WireExchange[]> => {
  for (;;) {
    const found = await read();
    if (found.length >= count) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe("recording proxy", () => {
  it("passes a stream on piece by piece, as it comes", async () => {
    let go: () => void = () => {};
    const seen = new Promise<void>((resolve) => (go = resolve));
    const to = await upstream(async (_body, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event("one "));
      await seen; // the second piece is only sent once the client has the first
      response.write(event("two"));
      response.end("data: [DONE]\n\n");
    });
    const { url, exchanges } = await proxy({ to });
    const response = await ask(url, { ...say("hi"), stream: true });
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("one")) go();
    }
    assert.equal(text, `${event("one ")}${event("two")}data: [DONE]\n\n`);
    const [exchange] = await exchanges();
    assert.equal(exchange?.response, text);
    assert.equal(exchange?.outcome, "complete");
  });

  it("knows the run by path, header or trace, and never writes a secret", async () => {
    const to = await upstream(whole);
    const { url, urlOf, exchanges, folder } = await proxy({ to });
    await (await ask(urlOf("run 1".replace(" ", "-")), say("a"))).text();
    await (
      await ask(url, say("my key is very-secret-key-1, also sk-abcdefghijklmnop1234"), { "x-coa-run": "run-2" })
    ).text();
    await (
      await ask(
        url,
        { ...say("c"), api_key: "hunter2hunter2" },
        { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` },
      )
    ).text();
    const inAddress = `${url}/chat/completions?key=hunter2inaddress&api-version=1`;
    await (await fetch(inAddress, { method: "POST", body: JSON.stringify(say("d")) })).text();
    assert.deepEqual(
      (await exchanges()).map(({ runId }) => runId),
      ["run-1", "run-2", "ab".repeat(16), undefined],
    );
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    assert.doesNotMatch(files.join(""), /very-secret|abcdefghijklmnop1234|hunter2/);
    assert.match(files.join(""), /my key is \[redacted\]/);
    assert.equal((await ask(`${url.replace("/v1", "")}/r/${encodeURIComponent("a/../b")}/v1`, say("x"))).status, 400);
  });

  it("finds the server's base path, whatever it is", async () => {
    const paths: (string | undefined)[] = [];
    const to = await upstream((body, response, request) => {
      paths.push(request.url);
      return whole(body, response, request);
    });
    const origin = new URL(to).origin;
    for (const base of ["", "/", "/v1", "/v1/", "/api/v1", "/v1beta/openai", "/openai/deployments/x"]) {
      const { url } = await proxy({ to: origin + base });
      await (await ask(url, say("x"))).text();
    }
    const { urlOf } = await proxy({ to: `${origin}/deployments/x` });
    await (
      await fetch(`${urlOf("r")}/chat/completions?api-version=1`, { method: "POST", body: JSON.stringify(say("x")) })
    ).text();
    assert.deepEqual(paths, [
      "/v1/chat/completions",
      "/v1/chat/completions",
      "/v1/chat/completions",
      "/v1/chat/completions",
      "/api/v1/chat/completions",
      "/v1beta/openai/chat/completions",
      "/openai/deployments/x/chat/completions",
      "/deployments/x/chat/completions?api-version=1",
    ]);
    await assert.rejects(startProxy({ to: "not an address", folder: root }), /not an address/);
  });

  it("runs the user's own redaction last", async () => {
    const to = await upstream(whole);
    const hide = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll("Dupont", "NAME"));
    const { url, exchanges } = await proxy({ to, redact: hide });
    assert.match(await (await ask(url, say("I am Dupont"))).text(), /Dupont/, "the client sees everything");
    assert.doesNotMatch(JSON.stringify(await exchanges()), /Dupont/);
    const problems: string[] = [];
    const fail = () => {
      throw new Error("no such name");
    };
    const broken = await proxy({ to, redact: fail, onProblem: (text) => problems.push(text) });
    assert.equal((await ask(broken.url, say("x"))).status, 200, "a broken hook doesn't break the app");
    assert.deepEqual([problems, await broken.exchanges()], [["a call could not be recorded: no such name"], []]);
  });

  it("writes no secret that a stream spells out piece by piece", async () => {
    const to = await upstream((_body, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const piece of ["your key is very-", "secret-", "key-1 and sk-abcdef", "ghijklmnop", "1234."])
        response.write(event(piece));
      response.end("data: [DONE]\n\n");
    });
    const { url, folder } = await proxy({ to });
    assert.match(await (await ask(url, { ...say("tell"), stream: true })).text(), /ghijklmnop/);
    const [run] = await readRecordings(folder);
    assert.equal(run?.answer, "your key is [redacted] and [redacted].");
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    assert.doesNotMatch(files.join(""), /secret-|ghijklmnop/);
  });

  it("records refusals, silence, cuts and departures as such", async () => {
    const to = await upstream(async (body, response) => {
      const [message] = body["messages"] as { content: string }[];
      if (message?.content === "refuse") return response.writeHead(429).end('{"error":{"message":"slow down"}}');
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event("half"));
      if (message?.content === "cut") return setImmediate(() => response.destroy());
      if (message?.content === "fade") return response.end();
      return undefined; // stays open until the client leaves
    });
    const { url, exchanges } = await proxy({ to });
    const refused = await ask(url, say("refuse"));
    assert.equal(refused.status, 429);
    assert.match(await refused.text(), /slow down/);
    await assert.rejects(async () => (await ask(url, { ...say("cut"), stream: true })).text());
    await (await ask(url, { ...say("fade"), stream: true })).text();
    const leave = new AbortController();
    const left = await ask(url, { ...say("leave"), stream: true }, {}, leave.signal);
    await left.body!.getReader().read();
    leave.abort();
    const all = await settled(exchanges, 4);
    assert.deepEqual(
      all.map(({ outcome }) => outcome),
      ["upstream-error", "upstream-cut", "complete", "client-disconnect"],
    );
    assert.match(all[1]!.response, /half/);
    const dead = await proxy({ to: "http://127.0.0.1:9" });
    assert.equal((await ask(dead.url, say("x"))).status, 502);
    assert.deepEqual(
      (await dead.exchanges()).map(({ status, outcome }) => [status, outcome]),
      [[0, "upstream-error"]],
    );
    const runs = await readRecordings((await proxy({ to })).folder);
    assert.equal(runs.length, 0);
  });

  it("tells an answer that faded out from one that ended", async () => {
    const to = await upstream((_body, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(event("never finished"));
    });
    const { url, folder } = await proxy({ to });
    await (await ask(url, { ...say("x"), stream: true })).text();
    const [run] = await readRecordings(folder);
    assert.equal(run?.steps[0]?.error, "unfinished");
    assert.equal(run?.answer, null);
  });

  it("passes on and keeps what an answer larger than its memory limit begins with", async () => {
    const big = "x".repeat(300_000);
    const to = await upstream((_body, response) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify({ big })),
    );
    const { url, exchanges } = await proxy({ to, maxKeptBytes: 100_000 });
    assert.equal((await (await ask(url, say("x"))).text()).length, JSON.stringify({ big }).length);
    const [exchange] = await exchanges();
    assert.equal(exchange?.truncated, true);
    assert.ok((exchange?.response.length ?? 0) < 250_000);
    const small = await proxy({ to, maxRequestBytes: 1000 });
    assert.equal((await ask(small.url, say(big))).status, 413);
    const deep = JSON.parse(`${"[".repeat(500)}${"]".repeat(500)}`);
    assert.equal((await ask(url, { ...say("x"), deep })).status, 400);
  });

  it("takes embeddings, responses and plain completions too, and passes everything else through", async () => {
    const to = await upstream((_body, response, request) => {
      response.setHeader("content-type", "application/json");
      if (request.url?.endsWith("/responses")) {
        const output = [
          { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
          { type: "message", role: "assistant", content: [{ type: "output_text", text: "fine" }] },
          { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
        ];
        return response.end(
          JSON.stringify({
            id: "resp_1",
            object: "response",
            status: "completed",
            output,
            usage: { input_tokens: 5, output_tokens: 2 },
          }),
        );
      }
      if (request.url?.endsWith("/completions"))
        return response.end('{"choices":[{"text":"done","finish_reason":"stop"}]}');
      return response.end('{"data":[]}');
    });
    const { url, exchanges, folder } = await proxy({ to });
    const post = async (path: string, body: object) =>
      (await fetch(`${url}/${path}`, { method: "POST", body: JSON.stringify(body) })).text();
    await post("embeddings", { model: "e", input: ["a"] });
    await post("responses", {
      model: "m",
      instructions: "Be kind.",
      input: [{ role: "user", content: "How are you?" }],
      tools: [{ type: "function", name: "look", parameters: {} }],
    });
    await post("completions", { model: "m", prompt: "Say done." });
    assert.equal((await fetch(`${url}/models`)).status, 200);
    assert.deepEqual(
      (await exchanges()).map(({ path }) => path),
      ["/v1/embeddings", "/v1/responses", "/v1/completions"],
    );
    const runs = await readRecordings(folder);
    const step = runs[0]?.steps[0];
    assert.deepEqual(
      [step?.text, step?.reasoning, step?.toolCalls[0]?.name, step?.promptTokens],
      ["fine", "hm", "look", 5],
    );
    assert.equal(runs[0]?.agents[0]?.instructions, "Be kind.");
    assert.equal(runs[1]?.answer, "done");
  });

  it("takes nothing from a foreign web page", async () => {
    const { url, exchanges } = await proxy({ to: await upstream(whole) });
    const foreign = await ask(url, { messages: [] }, { origin: "https://evil.example" });
    assert.equal(foreign.status, 403);
    const listed = await proxy({ to: await upstream(whole), access: { origins: ["https://app.example"] } });
    assert.equal((await ask(listed.url, { messages: [] }, { origin: "https://app.example" })).status, 200);
    assert.deepEqual(await exchanges(), []);
  });

  it("replays without a server, and fails loudly on what it never saw", async () => {
    let asked = 0;
    const to = await upstream((body, response, request) => {
      asked++;
      return whole(body, response, request);
    });
    const recorder = await proxy({ to });
    const first = await (await ask(recorder.url, say("hello"))).text();
    await recorder.close();
    const problems: string[] = [];
    const { url } = await proxy({ mode: "replay", folder: recorder.folder, onProblem: (text) => problems.push(text) });
    const again = await ask(url, { ...say("hello"), user: "somebody else" }, { authorization: "Bearer another-key" });
    assert.equal(await again.text(), first);
    assert.ok(again.headers.get("x-coa-replay"));
    const miss = await ask(url, say("goodbye"));
    assert.equal(miss.status, 404);
    const { error } = (await miss.json()) as { error: { type: string; message: string } };
    assert.equal(error.type, "coa_replay_miss");
    assert.match(error.message, /asked .*goodbye.* recorded .*hello/);
    assert.equal(problems.length, 1);
    assert.equal(asked, 1);
  });

  it("refuses calls before they pass a limit, also when they come at the same time", async () => {
    let asked = 0;
    const limits: unknown[] = [];
    const to = await upstream((body, response, request) => {
      asked++;
      limits.push(body["max_completion_tokens"]);
      return whole(body, response, request);
    });
    const two = await proxy({ to, budget: { perRun: { calls: 2 }, total: { calls: 3 } } });
    const statuses = await Promise.all([..."aaabbb"].map(async (run) => (await ask(two.urlOf(run), say("x"))).status));
    assert.equal(asked, 3);
    assert.deepEqual(statuses.filter((status) => status === 402).length, 3);
    // A call that does not fit beside the others waits for them: none is refused while tokens are left.
    let underWay = 0;
    let most = 0;
    const slow = await upstream(async (body, response, request) => {
      most = Math.max(most, (underWay += body["max_completion_tokens"] as number));
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= body["max_completion_tokens"] as number;
      return whole(body, response, request);
    });
    const tokens = await proxy({ to: slow, budget: { perRun: { tokens: 1000 } } });
    const many = await Promise.all(
      Array.from({ length: 20 }, () => ask(tokens.url, { ...say("x"), max_completion_tokens: 300 })),
    );
    assert.deepEqual([...new Set(many.map(({ status }) => status))], [200]);
    assert.ok(most <= 1000, `${most} tokens were promised at once`);
    assert.deepEqual(tokens.budget!.spent(), { calls: 20, tokens: 200, usd: 0 });
    const roomy = await proxy({ to, budget: { perRun: { tokens: 1000 } } });
    await (await ask(roomy.url, say("no limit of its own"))).text();
    const given = limits.at(-1) as number;
    assert.ok(given > 0 && given < 1000, `it was given what is left: ${given}`);
    const money = await proxy({ to, budget: { total: { usd: 0.000_2 }, prices: { m: { input: 1, output: 10 } } } });
    assert.equal((await ask(money.url, say("x"))).status, 200);
    assert.ok(Math.abs(money.budget!.spent().usd - (7 * 1 + 3 * 10) / 1e6) < 1e-12, "settled by what the server said");
    assert.equal((await ask(money.url, say("y".repeat(900)))).status, 402);
    const refused = (await money.exchanges()).at(-1);
    assert.match(refused?.error ?? "", /^budget: all runs/);
  });

  it("has recorded every call whose end a client saw, when it is killed", async () => {
    const to = await upstream((body, response, request) => {
      if (body["stream"] !== true) return whole(body, response, request);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event("x"));
      return response.end("data: [DONE]\n\n");
    });
    const folder = join(root, "killed");
    let completed = 0;
    const sent = new Set<string>();
    for (let round = 0; round < testSize(4, 40); round++) {
      const module = join(import.meta.dirname, "start-proxy.ts");
      const code = `const { startProxy } = await import(${JSON.stringify(module)}); console.log((await startProxy({ to: ${JSON.stringify(to)}, folder: ${JSON.stringify(folder)} })).url);`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const url = await new Promise<string>((resolve) =>
        child.stdout.once("data", (chunk) => resolve(String(chunk).trim())),
      );
      const ended = new Promise((resolve) => child.once("exit", resolve));
      let own = 0;
      const client = async (index: number): Promise<void> => {
        for (let turn = 0; ; turn++) {
          const id = `${round}-${index}-${turn}`;
          try {
            const text = await (await ask(url, { ...say(id), stream: turn % 2 === 0 })).text();
            if (!text.includes("[DONE]") && !text.includes("choices")) return;
          } catch {
            return;
          }
          completed++;
          sent.add(id);
          if (++own === 25 + round * 7) child.kill("SIGKILL");
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, index) => client(index)));
      await ended;
    }
    const recorded = new Set<string>();
    for await (const exchange of readCallLogs(folder))
      recorded.add((exchange.request as { messages: { content: string }[] }).messages[0]!.content);
    assert.ok(completed >= 100, `${completed} calls`);
    assert.deepEqual(
      [...sent].filter((id) => !recorded.has(id)),
      [],
    );
  });
});
