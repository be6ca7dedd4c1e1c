/**
 * What serving costs: a thousand open streams, beside node:http and Hono that stream the same without a chain; the same through a
 * model server, beside a pipe that passes its bytes on; the way to the first token, chains of the embedded engine through the
 * server against the same chains in process, and whether requests that were given up leave anything behind. The server is a
 * process of its own; processor time is that of its process, so a busy machine changes it little.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { loadavg } from "node:os";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";

const streams = 1000;
const aborted = 10_000;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

export default async function bench(): Promise<Figure[]> {
  const figures: Figure[] = [{ name: "load average at the start", value: loadavg()[0]!, unit: "" }];
  for (const section of Object.values(sections)) figures.push(...(await section()));
  return figures;
}

/** The parts of the benchmark. */
export const sections = { openStreams, throughServer, firstToken, engineChains, givenUp };

interface Served {
  origin: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the child measured
  ask(what: string): Promise<any>;
}

async function withServer<T>(mode: string, use: (served: Served) => Promise<T>, upstream = ""): Promise<T> {
  const child: ChildProcess = fork(join(import.meta.dirname, "serve/server.ts"), [mode, upstream], {
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  try {
    const [{ origin }] = (await once(child, "message")) as [{ origin: string }];
    return await use({
      origin,
      async ask(what) {
        child.send(what);
        return (await once(child, "message"))[0];
      },
    });
  } finally {
    child.kill("SIGKILL");
  }
}

/** One request; resolves with its text, or gives up after so many pieces. */
function post(url: string, body: object, giveUpAfter = Number.POSITIVE_INFINITY): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      { method: "POST", agent, headers: { "content-type": "application/json" } },
      (response) => {
        let text = "";
        let pieces = 0;
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
          if (++pieces >= giveUpAfter) asked.destroy();
        });
        response.on("end", () => resolve(text));
        response.on("close", () => resolve(text));
      },
    );
    asked.on("error", (error) => (giveUpAfter < Number.POSITIVE_INFINITY ? resolve("") : reject(error)));
    asked.end(JSON.stringify(body));
    if (giveUpAfter === 0) setTimeout(() => asked.destroy(), 5);
  });
}

const messages = [{ role: "user", content: "Where does Ada live?" }];
const dialects: [name: string, path: string, body: object, last: string][] = [
  ["chat completions", "/v1/chat/completions", { messages, stream: true }, "[DONE]"],
  ["responses", "/v1/responses", { input: "Where does Ada live?", stream: true, store: false }, "[DONE]"],
  ["messages", "/v1/messages", { messages, max_tokens: 100_000, stream: true }, "message_stop"],
  [
    "UI message stream",
    "/api/chat",
    { messages: [{ role: "user", parts: [{ type: "text", text: "Where?" }] }] },
    "[DONE]",
  ],
];

/** Processor time of a server per event of a thousand streams of chat completions. */
async function costOf(mode: string, upstream = ""): Promise<number> {
  const [, path, body] = dialects[0]!;
  return withServer(
    mode,
    async ({ origin, ask }) => {
      await Promise.all(Array.from({ length: 100 }, () => post(origin + path, body)));
      const before = await ask("measure");
      const texts = await Promise.all(Array.from({ length: streams }, () => post(origin + path, body)));
      const after = await ask("measure");
      const events = texts.reduce((sum, text) => sum + text.split("\n\n").length - 1, 0);
      return ((after.cpuMs - before.cpuMs) * 1000) / events;
    },
    upstream,
  );
}

/** Three measurements in turn; the middle one of each. */
async function inTurn(modes: readonly string[], upstream?: string): Promise<number[]> {
  const taken = modes.map((): number[] => []);
  for (let round = 0; round < 3; round++)
    for (const [index, mode] of modes.entries()) taken[index]!.push(await costOf(mode, upstream));
  return taken.map((values) => values.toSorted((a, b) => a - b)[1]!);
}

async function throughServer(): Promise<Figure[]> {
  return withServer("upstream", async ({ origin }) => {
    const [pipe, chain] = (await inTurn(["pipe", "proxied"], origin)) as [number, number];
    const met = chain <= 2 * pipe;
    return [
      { name: "a pipe to a model server: processor time per event", value: pipe, unit: "us" },
      { name: "a chain over it", value: chain, unit: "us", peer: "pipe", ratio: pipe / chain, target: "<= 2 x", met },
    ];
  });
}

async function openStreams(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const [node, hono, chain] = (await inTurn(["node", "hono", "ticking"])) as [number, number, number];
  figures.push(
    { name: "node:http without a chain: processor time per event", value: node, unit: "us" },
    { name: "Hono's streamSSE without a chain", value: hono, unit: "us" },
    {
      name: "chat completions of chains",
      value: chain,
      unit: "us",
      peer: "Hono",
      ratio: hono / chain,
      target: "<= 30 us",
      met: chain <= 30,
    },
  );
  for (const [name, path, body, last] of dialects) {
    await withServer("ticking", async ({ origin, ask }) => {
      await Promise.all(Array.from({ length: 100 }, () => post(origin + path, body))); // compiled code, open connections
      const before = await ask("measure");
      const texts = await Promise.all(Array.from({ length: streams }, () => post(origin + path, body)));
      const after = await ask("measure");
      const whole = texts.filter((text) => text.includes(last)).length;
      const events = texts.reduce((sum, text) => sum + text.split("\n\n").length - 1, 0);
      const us = ((after.cpuMs - before.cpuMs) * 1000) / events;
      const isChat = name === "chat completions";
      figures.push(
        {
          name: `${name}: streams complete, of ${streams}`,
          value: whole,
          unit: "",
          target: String(streams),
          met: whole === streams,
        },
        {
          name: `${name}: processor time per event, ${Math.round(events / streams)} events a stream`,
          value: us,
          unit: "us",
        },
        {
          name: `${name}: peak memory`,
          value: after.peakMb,
          unit: "MB",
          ...(isChat && { target: "<= 250 MB", met: after.peakMb <= 250 }),
        },
      );
    });
  }
  return figures;
}

/** Processor time of whole requests whose chain does nothing, an upper bound of what comes before the first token. */
async function firstToken(): Promise<Figure[]> {
  return withServer("instant", async ({ origin, ask }) => {
    const body = { messages, stream: true };
    const url = `${origin}/v1/chat/completions`;
    const rounds = 500;
    for (let warm = 0; warm < 300; warm++) await post(url, body);
    await ask("bare");
    const bare = (await ask("bare")).cpuMs;
    const before = (await ask("measure")).cpuMs;
    for (let index = 0; index < rounds; index++) await post(url, body);
    const added = ((await ask("measure")).cpuMs - before) / rounds - bare;
    return [
      {
        name: "processor time of a whole request over the bare model (bounds the first token)",
        value: added,
        unit: "ms",
        target: "<= 3 ms",
        met: added <= 3,
      },
    ];
  });
}

async function engineChains(): Promise<Figure[]> {
  return withServer("lab", async ({ origin, ask }) => {
    const world = createWorld({ seed: 7, pages: 600, split: "test" });
    const questions = worldTasks(world, { count: 64, seed: 7 }).map(({ question }) => question);
    const url = `${origin}/v1/chat/completions`;
    const served = async () => {
      const before = (await ask("measure")).cpuMs;
      const from = performance.now();
      const replies = await Promise.all(
        questions.map((content) =>
          post(url, { messages: [{ role: "user", content }], stream: true, stream_options: { include_usage: true } }),
        ),
      );
      const wallMs = performance.now() - from;
      const tokens = replies.reduce((sum, text) => sum + Number(/"completion_tokens":(\d+)/.exec(text)?.[1] ?? 0), 0);
      return { tokens, wallMs, cpuMs: (await ask("measure")).cpuMs - before };
    };
    await ask("in-process");
    await served();
    const rates: { cpu: number; wall: number }[] = [];
    let tokens = 0;
    for (let round = 0; round < 5; round++) {
      const inside = await ask("in-process");
      const outside = await served();
      if (inside.tokens !== outside.tokens)
        throw new Error(`${outside.tokens} tokens served, ${inside.tokens} in process`);
      tokens = inside.tokens;
      rates.push({ cpu: inside.cpuMs / outside.cpuMs, wall: inside.wallMs / outside.wallMs });
    }
    const median = (of: (rate: (typeof rates)[number]) => number) => rates.map(of).toSorted((a, b) => a - b)[2]!;
    const cpu = median((rate) => rate.cpu);
    return [
      {
        name: `64 chains on the embedded engine (${tokens} tokens), throughput per processor second`,
        value: 100 * cpu,
        unit: "%",
        peer: "in process",
        target: ">= 85 %",
        met: cpu >= 0.85,
      },
      { name: "the same by the clock", value: 100 * median((rate) => rate.wall), unit: "%", peer: "in process" },
    ];
  });
}

async function givenUp(): Promise<Figure[]> {
  return withServer("endless", async ({ origin, ask }) => {
    const url = `${origin}/v1/chat/completions`;
    const body = { messages, stream: true };
    const abort = async (count: number) => {
      for (let done = 0; done < count; done += 200)
        await Promise.all(Array.from({ length: 200 }, (_, index) => post(url, body, index % 3)));
    };
    await abort(2000);
    const before = await ask("settled");
    await abort(aborted);
    const after = await ask("settled");
    const grown = after.heapMb - before.heapMb;
    return [
      {
        name: `chains and requests left of ${aborted} that were given up`,
        value: after.active + after.pending,
        unit: "",
        target: "0",
        met: after.active + after.pending === 0,
      },
      { name: "heap grown by them", value: grown, unit: "MB", target: "<= 2 MB", met: grown <= 2 },
    ];
  });
}
