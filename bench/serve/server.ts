/**
 * The served side of the benchmark, in a process of its own, so that its processor time is its own. `ticking`: every chain
 * gets a token at the same moment, as from a batched engine. `instant`: a chain of three short turns without waiting.
 * `endless`: a chain that never ends. `lab`: the shipped model on the embedded engine. `node` and `hono` stream the same events
 * without a chain, `upstream` is a model server that does so, `proxied` a chain over it and `pipe` passes its bytes on. The parent
 * asks for measurements.
 */
import { once } from "node:events";
import { Agent, createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { runChain } from "../../src/chain/run-chain.ts";
import { openFolder } from "../../src/cli/open-model.ts";
import type { ContinueEvent, Model } from "../../src/core/model.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { labLimits } from "../../src/lab/lab-model-use.ts";
import { labToolsByTask } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { worldTasks } from "../../src/lab/world-tasks.ts";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { openaiCompatible } from "../../src/models/openai-compatible.ts";
import { type ChainHandlerOptions, chainHandler } from "../../src/serve/chain-handler.ts";
import { serve } from "../../src/serve/serve.ts";
import { tableTool } from "../../src/testing/index.ts";

const [, , mode, upstream = ""] = process.argv;
const piece = " twelve chars";
let active = 0;

const end = (count: number): ContinueEvent => ({
  type: "end",
  finish: "stop",
  usage: { promptTokens: 100, completionTokens: count },
});

/** One timer for all: all that wait continue at the next step. */
function ticker(ms: number): () => Promise<void> {
  let waiting: (() => void)[] = [];
  setInterval(() => {
    const all = waiting;
    waiting = [];
    for (const go of all) go();
  }, ms);
  return () => new Promise((resolve) => waiting.push(resolve));
}

const ticking = ["ticking", "node", "hono", "upstream"].includes(mode!);
const step = ticking || mode === "endless" ? ticker(ticking ? 50 : 5) : async () => {};
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const scripted: Model = {
  name: "bench",
  capabilities: { tokens: false, grammar: "none" },
  async *continue({ text, signal }) {
    if (mode === "instant") {
      yield { type: "delta", text: "<think>look</think>" };
      yield { type: "delta", text: "<answer>Lyon</answer>" };
      return yield end(8);
    }
    active++;
    try {
      yield { type: "delta", text: text === "" ? "<think>" : "" };
      for (let index = 0; mode === "endless" || index < 96; index++) {
        await step();
        signal?.throwIfAborted();
        yield { type: "delta", text: piece };
      }
      yield { type: "delta", text: "</think><answer>Lyon</answer>" };
      yield end(100);
    } finally {
      active--;
    }
  },
};

async function setup(): Promise<{ options: ChainHandlerOptions; inProcess?: () => Promise<number> }> {
  if (mode !== "lab") {
    const tools = [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
    const limits = { maxTokensPerCall: 1e9, maxCompletionTokens: 1e9 };
    return {
      options: {
        model:
          mode === "proxied"
            ? openaiCompatible({ baseURL: `${upstream}/v1`, model: "bench", connections: 2000 })
            : scripted,
        profile: mhqaProfile,
        toolsOf: () => tools,
        maxChains: 2000,
        defaults: { limits, enforcement: "report" },
      },
    };
  }
  const { model: lab } = await openFolder(new URL("../../weights/afm-lab-2m", import.meta.url).pathname);
  const world = createWorld({ seed: 7, pages: 600, split: "test" });
  const toolsOf = labToolsByTask(world);
  const defaults = { systemPrompt: false as const, limits: labLimits, sampling: { temperature: 0, seed: 0 } };
  const tasks = worldTasks(world, { count: 64, seed: 7 });
  return {
    options: { model: lab, profile: labProfile, toolsOf, maxChains: 64, defaults },
    async inProcess() {
      const options = { model: lab, profile: labProfile, ...defaults };
      const done = await Promise.all(tasks.map((task) => runChain(task, { ...options, tools: toolsOf(task) })));
      return done.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
    },
  };
}

/** What the events of a stream look like: 96 pieces of reasoning, an answer, the end. */
const chunk = (delta: object, finish: string | null = null) => {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "chatcmpl-0123456789abcdef0123456789abcdef", object: "chat.completion.chunk", created: 1, model: "bench", choices })}\n\n`;
};
const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache, no-transform" };
const usage = { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 };
const last = `${chunk({}, "stop")}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;

async function streamed(text: (piece: string) => object, write: (text: string) => unknown): Promise<void> {
  for (const given of mode === "upstream" ? ["<think>"] : []) await write(chunk(text(given)));
  for (let index = 0; index < 96; index++) {
    await step();
    await write(chunk(text(piece)));
  }
  await write(chunk(text(mode === "upstream" ? "</think><answer>Lyon</answer>" : "Lyon")) + last);
}

/** A server without a chain, for comparison. */
const bare: Record<string, RequestListener> = {
  async node(_request, response) {
    response.writeHead(200, headers);
    const room = () => new Promise((resolve) => response.once("drain", resolve));
    await streamed((reasoning) => ({ reasoning, reasoning_content: reasoning }), (text) => response.write(text) || room()); // biome-ignore format: one stream
    response.end();
  },
  async upstream(request, response) {
    request.resume();
    if (request.method === "GET") {
      response.setHeader("content-type", "application/json");
      return void response.end('{"object":"list","data":[{"id":"bench"}]}');
    }
    response.writeHead(200, headers);
    await streamed(
      (content) => ({ content }),
      (text) => response.write(text),
    );
    response.end();
  },
  pipe(request, response) {
    const asked = httpRequest(`${upstream}/v1/chat/completions`, { method: "POST", agent }, (from) => {
      response.writeHead(200, headers);
      from.pipe(response);
    });
    request.pipe(asked);
  },
};

async function hono(): Promise<RequestListener> {
  const [{ Hono }, { streamSSE }, { getRequestListener }] = await Promise.all([
    import("hono"),
    import("hono/streaming"),
    import("@hono/node-server"),
  ]);
  const app = new Hono();
  app.post("/*", (context) =>
    streamSSE(context, async (stream) => {
      await streamed((reasoning) => ({ reasoning, reasoning_content: reasoning }), (text) => stream.write(text)); // biome-ignore format: one stream
    }),
  );
  return getRequestListener(app.fetch);
}

async function open(): Promise<{ origin: string; pending(): number; inProcess?(): Promise<number> }> {
  const listener = mode === "hono" ? await hono() : bare[mode!];
  if (listener) {
    const server = createServer(listener).listen(0, "127.0.0.1", 4096);
    await once(server, "listening");
    return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, pending: () => 0 };
  }
  const { options, inProcess } = await setup();
  return { ...(await serve(await chainHandler(options), { port: 0 })), inProcess };
}

const { inProcess, ...server } = await open();
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
process.on("message", async (asked: string) => {
  if (asked === "measure") {
    process.send!({ cpuMs: cpuMs(), peakMb: process.resourceUsage().maxRSS / 1024 });
  } else if (asked === "settled") {
    for (let round = 0; round < 200 && (active > 0 || server.pending() > 0); round++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    for (let round = 0; round < 4; round++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      globalThis.gc?.();
    }
    const { heapUsed } = process.memoryUsage();
    process.send!({ active, pending: server.pending(), heapMb: heapUsed / 2 ** 20 });
  } else if (asked === "in-process") {
    const [before, from] = [cpuMs(), performance.now()];
    const tokens = await inProcess!();
    process.send!({ tokens, cpuMs: cpuMs() - before, wallMs: performance.now() - from });
  } else if (asked === "bare") {
    const before = cpuMs();
    for (let index = 0; index < 300; index++)
      for await (const _ of scripted.continue({ prompt: [], text: "", stop: [], maxTokens: 100 }));
    process.send!({ cpuMs: (cpuMs() - before) / 300 });
  }
});
process.send!({ origin: server.origin });
