/**
 * What one process can carry: reinforcement with 2,048 chains in flight in the paper's settings (web 32B, code 32B), with everything real but
 * the model and the tools. Those answer with texts of the length they would have, after the time they would take on a clock that
 * runs `speed` times as fast; so processor time, memory and journal are real, and rates are per second of that clock. A step is
 * trained on at the end, by an engine that computes nothing. COA_BENCH_CHAINS, COA_BENCH_SPEED and COA_BENCH_SETTING (web, code) change it.
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Figure } from "../scripts/bench.ts";
import { sleep } from "../src/base/work/limiter.ts";
import { derivedSeed, seededRandom } from "../src/base/work/random.ts";
import { runChain } from "../src/chain/run-chain.ts";
import { type Engine, type Policy, sampleManyWith, summedLosses } from "../src/core/engine.ts";
import { defineTask } from "../src/core/task.ts";
import type { Tokenizer } from "../src/core/tokenizer.ts";
import { defineTool, type Tool } from "../src/core/tool.ts";
import { codeProfile, webProfile } from "../src/language/profiles.ts";
import { engineModel } from "../src/models/engine-model.ts";
import { loadTokenizer } from "../src/tokenizers/load-tokenizer.ts";
import { trainRl } from "../src/train/train-rl.ts";

/** How many times as fast as the real one the clock runs. */
const speed = Number(process.env["COA_BENCH_SPEED"] ?? 10);
const chains = Number(process.env["COA_BENCH_CHAINS"] ?? 2048);

interface Setting {
  name: string;
  profile: typeof webProfile;
  /** Groups of a step; eight rollouts each. */
  groups: number;
  /** Calls of a tool in a chain: as many on average, this many at most. */
  turns: number;
  maxTurns: number;
  sampledTokens: number;
  observationCharacters: number;
  /** Sampled tokens per second of one chain, and seconds of a tool. */
  tokensPerSecond: number;
  toolSeconds: [number, number];
  maxContext: number;
}

const settings: Setting[] = [
  { name: "web 32B", profile: webProfile, groups: 64, turns: 10, maxTurns: 25, sampledTokens: 600, observationCharacters: 2200, tokensPerSecond: 30, toolSeconds: [1, 5], maxContext: 32_768 },
  { name: "code 32B", profile: codeProfile, groups: 256, turns: 4, maxTurns: 8, sampledTokens: 1500, observationCharacters: 700, tokensPerSecond: 30, toolSeconds: [0.3, 5], maxContext: 32_768 },
]; // biome-ignore format: one setting a line

const words = "the archive of the northern harbour lists every ship that was registered there between two wars ".split(
  " ",
);

/** Some text of about this many characters. */
function text(seed: number, characters: number): string {
  const random = seededRandom(seed);
  let written = "";
  while (written.length < characters) written += `${random.pick(words)} `;
  return written;
}

/** An engine whose policies write chains of the setting's lengths, and whose training is free. */
function simulatedEngine(setting: Setting, tokenizer: Tokenizer, counts: { calls: number; tokens: number }): Engine {
  const turnOf = new Map<string, number>();
  const tag = setting.profile === webProfile ? "web_search" : "code";
  // A few texts, tokenized once: what a model server sends are ids.
  const pieces = Array.from({ length: 16 }, (_, at) => {
    const think = tokenizer.encodeWithSpecials("<think>");
    while (think.length < setting.sampledTokens - 40) think.push(...tokenizer.encode(text(at, 400)));
    const closed = [...think.slice(0, setting.sampledTokens - 40), ...tokenizer.encodeWithSpecials("</think>")];
    const body = tag === "code" ? `\`\`\`py\nprint(6 * ${at})\n\`\`\`` : text(at, 40);
    return {
      call: [...closed, ...tokenizer.encodeWithSpecials(`<${tag}>${body}</${tag}>`)],
      answers: ["42", "41"].map((answer) => [...closed, ...tokenizer.encodeWithSpecials(`<answer>${answer}</answer>`)]),
    };
  });
  const opening = tokenizer.encodeWithSpecials("<plan>Look it up, then answer.</plan>");
  const between = tag === "code" ? tokenizer.encodeWithSpecials("<reflection>It ran.</reflection>") : [];
  const capabilities: Engine["capabilities"] = {
    losses: summedLosses,
    logprobs: "sampled",
    fullParameter: true,
    gradientClipping: true,
    gradientNorm: false,
    tokenMasks: false,
    overlap: true,
    maxContext: setting.maxContext,
    vocabularySize: tokenizer.vocabularySize,
  };
  let version = 0;
  const sample: Policy["sample"] = async ({ sessionKey = "", signal }) => {
    const turn = turnOf.get(sessionKey) ?? 0;
    turnOf.set(sessionKey, turn + 1);
    const random = seededRandom(derivedSeed(1, sessionKey));
    const turns = Math.min(setting.maxTurns, Math.round(setting.turns * (0.4 + 1.2 * random.next())));
    const piece = pieces[(turn + turns) % pieces.length]!;
    const written = turn < turns ? piece.call : piece.answers[random.next() < 0.5 ? 0 : 1]!;
    const tokens = [...(turn === 0 ? opening : between), ...written];
    counts.calls++;
    counts.tokens += tokens.length;
    await sleep((1000 * tokens.length) / setting.tokensPerSecond / speed, signal);
    return { tokens, logprobs: tokens.map((token) => -1 / (token + 2)), finish: "stop", policyVersion: version };
  };
  return {
    name: "simulated",
    capabilities,
    forward: async (examples) => ({ logprobs: examples.map(({ oldLogprobs }) => oldLogprobs!) }),
    forwardBackward: async (examples) => ({ logprobs: examples.map(({ oldLogprobs }) => oldLogprobs!) }),
    async optimStep() {
      version++;
      return {};
    },
    publish: async () => ({
      name: "simulated",
      capabilities,
      version,
      sample,
      sampleMany: sampleManyWith(sample),
      endSession: (key) => void turnOf.delete(key),
    }),
    saveState: async (folder) => folder,
    loadState: async () => {},
    saveModel: async () => {},
    close: async () => {},
  };
}

function simulatedTools(setting: Setting, counts: { tools: number }): Tool[] {
  const pages = Array.from({ length: 64 }, (_, at) => text(1000 + at, setting.observationCharacters));
  const [least, most] = setting.toolSeconds;
  const answer = async (_: unknown, { signal }: { signal?: AbortSignal }) => {
    const number = counts.tools++;
    await sleep((1000 * (least + (most - least) * seededRandom(number).next())) / speed, signal);
    return pages[number % pages.length]!;
  };
  const query = z.object({ query: z.string() });
  return setting.profile === webProfile
    ? [defineTool({ name: "web_search", description: "Search the web.", input: query, run: answer })]
    : [defineTool({ name: "code", description: "Run a program.", input: z.object({ code: z.string() }), run: answer })];
}

const processorSeconds = () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6;
const megabytes = (bytes: number) => bytes / 2 ** 20;

async function measure(setting: Setting, tokenizer: Tokenizer): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-scale-"));
  const counts = { calls: 0, tokens: 0, tools: 0, ended: 0, live: 0, peakLive: 0, peakHeap: 0, peakRss: 0, bad: 0 };
  const engine = simulatedEngine(setting, tokenizer, counts);
  const tools = simulatedTools(setting, counts);
  const groups = Math.min(setting.groups, chains / 8);
  globalThis.gc?.();
  const before = { cpu: processorSeconds(), at: performance.now(), heap: process.memoryUsage().heapUsed };
  const watch = setInterval(() => {
    const { heapUsed, rss } = process.memoryUsage();
    Object.assign(counts, { peakHeap: Math.max(counts.peakHeap, heapUsed), peakRss: Math.max(counts.peakRss, rss) });
  }, 200);
  try {
    await trainRl({
      engine,
      tokenizer,
      folder: join(folder, "run"),
      seed: 1,
      steps: 1,
      collect: { groups, samples: 8, inFlight: chains / 8, maxStaleness: 3 },
      updates: { perPass: 1 },
      tasks: (step, round, count) =>
        Array.from({ length: count }, (_, at) =>
          defineTask({ id: `t${step}-${round}-${at}`, question: "What?", answers: ["42"] }),
        ),
      async rollout(task, { policy, seed, maxContext, signal }) {
        counts.peakLive = Math.max(counts.peakLive, ++counts.live);
        const model = engineModel(policy, tokenizer);
        const chain = await runChain(task, {
          model: { ...model, capabilities: { ...model.capabilities, contextWindow: maxContext } },
          tools,
          profile: setting.profile,
          enforcement: "report", // what the simulated model writes is as long as the real thing, not as orderly
          limits: {
            maxCompletionTokens: maxContext,
            maxToolCalls: setting.maxTurns,
            maxSteps: 3 * setting.maxTurns,
            maxWallMs: 1e9, // a fast clock on a busy machine is late
            toolTimeoutMs: 1e9,
          },
          sampling: { temperature: 1, seed },
          id: `${task.id}-${seed}`,
          signal,
        });
        counts.live--;
        counts.ended++;
        if (chain.answer === null && !signal?.aborted) counts.bad++;
        return chain;
      },
      reward: async ({ answer }) => ({
        reward: Number(answer === "42"),
        correct: answer === "42",
        score: 0,
        reason: "",
      }),
      optimizer: { learningRate: 1e-6 },
    });
    const cpu = processorSeconds() - before.cpu;
    const seconds = (performance.now() - before.at) / 1000;
    const journal = join(folder, "run", "rollouts");
    let bytes = 0;
    for (const name of await readdir(journal)) bytes += (await stat(join(journal, name))).size;
    const callMs = (1000 * cpu) / counts.calls;
    // Turns per second of the real clock when all chains live: sampling and a tool, one after the other.
    const turnSeconds =
      setting.sampledTokens / setting.tokensPerSecond + (setting.toolSeconds[0] + setting.toolSeconds[1]) / 2;
    const needed = chains / turnSeconds;
    const share = (needed * callMs) / 10;
    const name = (what: string) => `${setting.name}: ${what}`;
    if (counts.bad > 0) throw new Error(`${counts.bad} chains ended without an answer`);
    return [
      { name: name("chains in flight, at most"), value: counts.peakLive, unit: "" },
      { name: name(`chains that ended in ${seconds.toFixed(0)} s (clock x ${speed})`), value: counts.ended, unit: "" },
      { name: name("events handled (model calls + tool results)"), value: (counts.calls + counts.tools) / seconds, unit: "/s" },
      { name: name("sampled tokens handled"), value: counts.tokens / seconds, unit: "/s" },
      { name: name("processor time of a turn"), value: callMs, unit: "ms" },
      { name: name("one core, with all chains live on the real clock"), value: share, unit: "%", target: "< 100", met: share < 100 },
      { name: name("heap above the start, at most"), value: megabytes(counts.peakHeap - before.heap), unit: "MB" },
      { name: name("heap of a live chain"), value: megabytes(counts.peakHeap - before.heap) / counts.peakLive, unit: "MB" },
      { name: name("resident memory, at most"), value: megabytes(counts.peakRss), unit: "MB" },
      { name: name("journal of a rollout"), value: bytes / Math.max(1, counts.ended) / 1000, unit: "kB" },
    ]; // biome-ignore format: one figure a line
  } finally {
    clearInterval(watch);
    await rm(folder, { recursive: true, force: true });
  }
}

export default async function bench(): Promise<Figure[]> {
  const tokenizer = await loadTokenizer(join(import.meta.dirname, "..", "weights", "afm-lab-2m"));
  const figures: Figure[] = [{ name: "load of the machine", value: loadavg()[0]!, unit: "" }];
  const chosen = process.env["COA_BENCH_SETTING"] ?? "";
  for (const setting of settings.filter(({ name }) => name.startsWith(chosen)))
    figures.push(...(await measure(setting, tokenizer)));
  return figures;
}
