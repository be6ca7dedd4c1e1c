/**
 * Training on chains: most of their tokens are prompt and observations, which teach nothing, their lengths differ, and rollouts
 * share prompts. Tokens taught per second of processor time, one thread, step by step in turn with eager PyTorch, padded and
 * packed, where a python3 with torch is found. COA_BENCH_STEPS sets how many steps, COA_BENCH_MODELS which models
 * (S,L,0.5B), COA_BENCH_MIXES which chains (lab,rollouts,web), COA_PYTHON which python.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import type { Example } from "../src/core/engine.ts";
import { labChains, rolloutChains, webChains } from "./engine/chain-mixes.ts";
import { models } from "./engine/models.ts";
import { findTorch, least, type Stepped, startStepper } from "./engine/stepper.ts";

const steps = Number(process.env["COA_BENCH_STEPS"] ?? 3);
const chosen = (process.env["COA_BENCH_MODELS"] ?? "S,L,0.5B").split(",");
const mixes = (process.env["COA_BENCH_MIXES"] ?? "lab,rollouts,web").split(",");

export default async function bench(): Promise<Figure[]> {
  const python = findTorch();
  const folder = await mkdtemp(join(tmpdir(), "coa-chains-"));
  try {
    const figures: Figure[] = [];
    const lab = await labChains(32);
    for (const size of chosen) {
      const { model, lora } = models[size]!;
      const large = lora !== undefined;
      const batches: Record<string, Example[]> = {
        lab: lab.slice(0, large ? 3 : 32),
        rollouts: rolloutChains(lab.slice(0, large ? 8 : 32), 150),
        web: webChains(large ? 1 : 8, Math.min(4096, model.vocabularySize)),
      };
      for (const mix of mixes) {
        const examples = batches[mix]!;
        const file = join(folder, "batch.json");
        await writeFile(file, JSON.stringify(examples.map(asJson(examples))));
        // PyTorch keeps every logit: of the large vocabulary, 24 GB hold about 1,500 tokens at once beside everything else.
        const rows = large || mix === "web" ? 4 : 8;
        const setting = {
          model: { ...model, maxContext: 4200 },
          lora,
          threads: 1,
          batch: file,
          rows,
          packedTokens: large ? 1500 : 4096,
        };
        const starts = [() => startStepper(process.execPath, "our-chains.ts", setting)];
        for (const mode of python ? ["padded", "packed"] : []) {
          starts.push(() => startStepper(python!.path, "torch-chains.py", { ...setting, mode }));
        }
        figures.push(...compare(`${size}, ${mix}`, examples, await taken(starts, large)));
      }
    }
    return figures;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Weights are 1 / taught tokens, so that every side shows the mean loss. */
function asJson(examples: readonly Example[]) {
  const taught = taughtTokens(examples);
  return ({ input, targets, weights }: Example) => ({
    tokens: [...input, targets.at(-1)],
    weights: Array.from(weights!, (weight) => (weight === 0 ? 0 : 1 / taught)),
  });
}

function taughtTokens(examples: readonly Example[]): number {
  return examples.reduce((sum, { weights }) => sum + weights!.filter((weight) => weight !== 0).length, 0);
}

/** Steps of all sides, in turn; large models one side after the other, because memory holds one at a time. */
async function taken(starts: (() => ReturnType<typeof startStepper>)[], oneByOne: boolean) {
  const sides: { name: string; steps: Stepped[] }[] = [];
  const open = async (start: (typeof starts)[number]) => {
    const stepper = await start();
    const side = { name: stepper.name, steps: [] as Stepped[] };
    sides.push(side);
    return { stepper, side };
  };
  if (oneByOne) {
    for (const start of starts) {
      const { stepper, side } = await open(start);
      for (let step = 0; step < steps; step++) side.steps.push(await stepper.step());
      stepper.stop();
    }
    return sides;
  }
  const opened = await Promise.all(starts.map(open));
  for (let step = 0; step < steps; step++) {
    for (const { stepper, side } of opened) side.steps.push(await stepper.step());
  }
  for (const { stepper } of opened) stepper.stop();
  return sides;
}

function compare(label: string, examples: readonly Example[], sides: { name: string; steps: Stepped[] }[]): Figure[] {
  const [ours, ...peers] = sides;
  const taught = taughtTokens(examples);
  const computed = examples.reduce((sum, { input }) => sum + input.length, 0);
  const rate = (stepped: Stepped[]) => (1000 * taught) / least(stepped, "cpuMs");
  console.error(`${label}: ${examples.length} chains, ${computed} tokens, ${taught} taught`);
  for (const { name, steps: list } of sides)
    console.error(`  ${name}: loss ${list[0]!.loss!.toFixed(4)}, ${list.map(({ cpuMs }) => cpuMs.toFixed(0))} ms`);
  const name = `${label} (${((100 * taught) / computed).toFixed(0)} % taught)`;
  if (peers.length === 0) return [{ name, value: rate(ours!.steps), unit: "taught tokens/cpu-s" }];
  return peers.flatMap((peer) => {
    const target = peer.name.endsWith("padded") ? 2 : 1.3;
    const ratio = rate(ours!.steps) / rate(peer.steps);
    const memory = peer.steps.at(-1)!.peakBytes / ours!.steps.at(-1)!.peakBytes;
    return [
      {
        name,
        value: rate(ours!.steps),
        unit: "taught tokens/cpu-s",
        peer: peer.name,
        ratio,
        target: `${target}x`,
        met: ratio >= target,
      },
      {
        name: `${name}, peak memory`,
        value: ours!.steps.at(-1)!.peakBytes / 2 ** 20,
        unit: "MB",
        peer: peer.name,
        ratio: memory,
      },
    ];
  });
}
