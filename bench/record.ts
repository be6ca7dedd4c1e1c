/**
 * What the recording proxy costs: latency of a call through it against the same call without it, turn by turn in one
 * run, and a thousand streams open at the same time, each of which must arrive and be recorded whole.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import { readCallLogs } from "../src/record/call-log.ts";
import { largeFolder } from "./record/large-folder.ts";

const calls = 1500;
const streams = 1000;

export default async function bench(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-bench-record-"));
  const children: ChildProcess[] = [];
  try {
    const upstream = await start(children, "upstream.ts");
    const proxy = await start(children, "proxy.ts", upstream, folder);
    return [...(await latency(upstream, proxy)), ...(await heldStreams(proxy, folder)), ...(await largeFolder())];
  } finally {
    for (const child of children) child.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function latency(direct: string, proxied: string): Promise<Figure[]> {
  const agent = new Agent({ keepAlive: true });
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "word ".repeat(400) }] });
  for (let warm = 0; warm < 200; warm++) for (const url of [direct, proxied]) await call(url, body, agent);
  const times: Record<string, number[]> = { [direct]: [], [proxied]: [] };
  for (let index = 0; index < calls; index++) {
    // Who goes first changes, so that neither profits from a warm cache.
    for (const url of index % 2 === 0 ? [direct, proxied] : [proxied, direct]) {
      const from = performance.now();
      await call(url, body, agent);
      times[url]!.push(performance.now() - from);
    }
  }
  agent.destroy();
  const at = (url: string, share: number) => times[url]!.toSorted((a, b) => a - b)[Math.floor(calls * share)]!;
  const added = at(proxied, 0.5) - at(direct, 0.5);
  return [
    { name: "call without proxy, p50", value: at(direct, 0.5), unit: "ms" },
    { name: "call through proxy, p50", value: at(proxied, 0.5), unit: "ms" },
    { name: "added latency, p50", value: added, unit: "ms", peer: "no proxy", target: "<= 1 ms", met: added <= 1 },
    { name: "added latency, p90", value: at(proxied, 0.9) - at(direct, 0.9), unit: "ms", peer: "no proxy" },
  ];
}

async function heldStreams(proxied: string, folder: string): Promise<Figure[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const before = (await Array.fromAsync(readCallLogs(folder))).length;
  const from = performance.now();
  const texts = await Promise.all(
    Array.from({ length: streams }, (_, index) =>
      call(
        proxied,
        JSON.stringify({ stream: true, together: streams, messages: [{ role: "user", content: `${index}` }] }),
        agent,
      ),
    ),
  );
  const seconds = (performance.now() - from) / 1000;
  agent.destroy();
  const whole = texts.filter((text) => text.includes("piece 19 ") && text.endsWith("data: [DONE]\n\n")).length;
  const recorded = (await Array.fromAsync(readCallLogs(folder)))
    .slice(before)
    .filter(({ outcome, response }) => outcome === "complete" && response.includes("piece 19 ")).length;
  return [
    {
      name: "streams open at once, arrived whole",
      value: whole,
      unit: "streams",
      target: `${streams}`,
      met: whole === streams,
    },
    {
      name: "streams recorded whole",
      value: recorded,
      unit: "streams",
      target: `${streams}`,
      met: recorded === streams,
    },
    { name: "time for all streams", value: seconds, unit: "s" },
  ];
}

function call(url: string, body: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const outgoing = request(`${url}/chat/completions`, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function start(children: ChildProcess[], script: string, ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "record", script), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.stdout!.once("data", (chunk) => resolve(String(chunk).trim()));
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
}
