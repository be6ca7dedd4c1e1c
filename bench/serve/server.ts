/**
 * The served side of the benchmark, in a process of its own, so that its processor time is its own. `ticking`: every chain
 * gets a token at the same moment, as from a batched engine. `instant`: a chain of three short turns without waiting.
 * `endless`: a chain that never ends. `lab`: the shipped model on the embedded engine. The parent asks for measurements.
 */
import { runChain } from "../../src/chain/run-chain.ts";
import { openFolder } from "../../src/cli/open-model.ts";
import type { ContinueEvent, Model } from "../../src/core/model.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { labLimits } from "../../src/lab/lab-model-use.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { labToolsByTask } from "../../src/lab/tools-by-task.ts";
import { worldTasks } from "../../src/lab/world-tasks.ts";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { type ChainHandlerOptions, chainHandler } from "../../src/serve/chain-handler.ts";
import { serve } from "../../src/serve/serve.ts";
import { tableTool } from "../../src/testing/index.ts";

const [, , mode] = process.argv;
const piece = " twelve chars";
let active = 0;

function model(continued: Model["continue"]): Model {
  return {
    name: "bench",
    capabilities: { tokens: false, grammar: "none" },
    async *continue(request) {
      active++;
      try {
        yield* continued(request);
      } finally {
        active--;
      }
    },
  };
}
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

const step = mode === "ticking" || mode === "endless" ? ticker(mode === "ticking" ? 50 : 5) : async () => {};

const scripted = model(async function* ({ text, signal }) {
  if (mode === "instant") {
    yield { type: "delta", text: "<think>look</think>" };
    yield { type: "delta", text: "<answer>Lyon</answer>" };
    return yield end(8);
  }
  yield { type: "delta", text: text === "" ? "<think>" : "" };
  for (let index = 0; mode === "endless" || index < 96; index++) {
    await step();
    signal?.throwIfAborted();
    yield { type: "delta", text: piece };
  }
  yield { type: "delta", text: "</think><answer>Lyon</answer>" };
  yield end(100);
});

async function setup(): Promise<{ options: ChainHandlerOptions; inProcess?: () => Promise<number> }> {
  if (mode !== "lab") {
    const tools = [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
    const limits = { maxTokensPerCall: 1e9, maxCompletionTokens: 1e9 };
    return {
      options: {
        model: scripted,
        profile: mhqaProfile,
        toolsOf: () => tools,
        maxChains: 2000,
        defaults: { limits, enforcement: "report" },
      },
    };
  }
  const { model: lab } = await openFolder(new URL("../../weights/afm-lab-2m", import.meta.url).pathname);
  const world = createWorld({ seed: 7, pages: 600, split: "test" });
  const { toolsOf } = labToolsByTask(world);
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

const { options, inProcess } = await setup();
const server = await serve(await chainHandler(options), { port: 0 });
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
let peakMb = 0;
setInterval(() => {
  peakMb = Math.max(peakMb, process.memoryUsage.rss() / 2 ** 20);
}, 100);
process.on("message", async (asked: string) => {
  if (asked === "measure") {
    process.send!({ cpuMs: cpuMs(), peakMb });
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
