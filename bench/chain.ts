/**
 * What the chain runtime itself costs: a model of zero latency, six steps, streamed and not, many at once; against the
 * loops of other libraries in the same run, interleaved. Also memory per live chain and the time to import the package.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { z } from "zod";
import type { Figure } from "../scripts/bench.ts";
import { runChain, streamChain } from "../src/chain/run-chain.ts";
import type { ContinueEvent, Model } from "../src/core/model.ts";
import { defineTask } from "../src/core/task.ts";
import { defineTool } from "../src/core/tool.ts";
import { mhqaProfile } from "../src/language/profiles.ts";
import { chunks, installedPeers, type Peer, steps, thought, toolResult } from "./peers/agent-loops.ts";

const task = defineTask({ id: "t", question: "question" });
const input = z.object({ query: z.string() });
const search = defineTool({ name: "wiki_search", description: "Search.", input, run: async () => toolResult });

const scripts = new Map(
  [true, false].map((streaming) => {
    const answers = Array.from({ length: steps }, (_, call): ContinueEvent[] => {
      const move = call === steps - 1 ? "<answer>done</answer>" : `<wiki_search>q${call}</wiki_search>`;
      const text = `<think>${thought}</think>${move}`;
      const deltas = (streaming ? chunks(text) : [text]).map(
        (delta): ContinueEvent => ({ type: "delta", text: delta }),
      );
      return [...deltas, { type: "end", finish: "stop", usage: { promptTokens: 100, completionTokens: 20 } }];
    });
    return [streaming, answers];
  }),
);

/** Zero latency: every answer is ready, whole or in chunks. One model per trajectory, as with the peers. */
function instantModel(streaming: boolean): Model {
  const answers = scripts.get(streaming)!;
  let call = 0;
  return {
    name: "instant",
    capabilities: { tokens: false, grammar: "none" },
    async *continue() {
      yield* answers[call++]!;
    },
  };
}

const ours: Peer = {
  name: "ours",
  async run(streaming) {
    const options = { model: instantModel(streaming), tools: [search], profile: mhqaProfile };
    if (!streaming) return (await runChain(task, options)).answer ?? "";
    let answer = "";
    for await (const event of streamChain(task, options))
      if (event.type === "chain-end") answer = event.trajectory.answer ?? "";
    return answer;
  },
};

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** CPU milliseconds per trajectory, with `concurrency` of them at a time. */
async function cpuOf(peer: Peer, streaming: boolean, trajectories: number, concurrency = 64): Promise<number> {
  const before = process.cpuUsage();
  let started = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (started++ < trajectories) {
        if ((await peer.run(streaming)) !== "done") throw new Error(`${peer.name} gave a wrong answer`);
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / trajectories;
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Heap per chain with 512 of them waiting for a tool in their fourth step. */
async function memoryPerChain(live = 512): Promise<number> {
  let waiting = 0;
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let ready: () => void = () => {};
  const allWait = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const slow = defineTool({
    name: "wiki_search",
    description: "Search.",
    input,
    async run({ query }) {
      if (query !== "q3") return toolResult;
      if (++waiting === live) ready();
      await gate;
      return toolResult;
    },
  });
  collect();
  const before = process.memoryUsage().heapUsed;
  const running = Array.from({ length: live }, () =>
    runChain(task, { model: instantModel(true), tools: [slow], profile: mhqaProfile, onEvent: () => {} }),
  );
  await allWait;
  collect();
  const used = (process.memoryUsage().heapUsed - before) / live;
  release();
  await Promise.all(running);
  return used / 2 ** 20;
}

/** Milliseconds to import the package, freshly built, in a fresh process. */
function importTime(): number {
  const root = join(import.meta.dirname, "..");
  spawnSync(process.execPath, [join(root, "scripts", "build.ts")], { cwd: root, stdio: "ignore" });
  const entry = JSON.stringify(pathToFileURL(join(root, "dist", "index.js")).href);
  const code = `const t = performance.now(); await import(${entry}); console.log(performance.now() - t)`;
  const fresh = () => spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
  return median(Array.from({ length: 9 }, () => Number(fresh().stdout)));
}

export default async function bench(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const peers = await installedPeers();
  for (const streaming of [false, true]) {
    const all = [ours, ...peers];
    const times = new Map(all.map((peer) => [peer, [] as number[]]));
    // Blocks of about the same CPU time for each, long enough for compiler and heap to settle.
    const share = new Map<Peer, number>();
    for (const peer of all) {
      await cpuOf(peer, streaming, 256);
      share.set(peer, Math.ceil(400 / (await cpuOf(peer, streaming, 256))));
    }
    for (let round = 0; round < 5; round++) {
      for (const peer of all) times.get(peer)!.push(await cpuOf(peer, streaming, share.get(peer)!));
    }
    const own = median(times.get(ours)!);
    const kind = streaming ? "streaming" : "not streaming";
    figures.push({ name: `CPU per trajectory, ${kind}`, value: own, unit: "ms", target: "<= 1.5 ms", met: own <= 1.5 });
    const best = Math.min(...peers.map((peer) => median(times.get(peer)!)));
    for (const peer of peers) {
      const value = median(times.get(peer)!);
      const isBest = value === best;
      figures.push({
        name: `CPU per trajectory, ${kind}`,
        value,
        unit: "ms",
        peer: peer.name,
        ratio: value / own,
        ...(isBest ? { target: ">= 3x less than the best peer", met: value / own >= 3 } : {}),
      });
    }
  }
  const memory = await memoryPerChain();
  figures.push({
    name: "heap per live chain, 512 live",
    value: memory,
    unit: "MB",
    target: "<= 0.3 MB",
    met: memory <= 0.3,
  });
  const load = importTime();
  figures.push({ name: "importing the package", value: load, unit: "ms", target: "<= 150 ms", met: load <= 150 });
  return figures;
}
