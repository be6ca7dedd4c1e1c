/**
 * The embedded engine on models of real size: the shapes of Qwen2.5-0.5B and Qwen3-0.6B with their whole vocabulary and
 * random weights, in folders made here and stored as bf16. Loading, scoring, training of an adapter, publishing and decoding,
 * in turn with transformers and PEFT on the same folder and as many threads where a python3 with both is found; and how far
 * the log-probabilities of the two are apart. COA_BENCH_MODELS says which (0.5B,0.6B), COA_BENCH_THREADS how many threads,
 * COA_BENCH_STEPS how many rounds, COA_BENCH_FOLDER where the folders are kept for the next time, COA_PYTHON which python.
 * With one thread processor time is compared, with more the clock.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import { seededRandom } from "../src/base/work/random.ts";
import { loadTokenizer } from "../src/tokenizers/load-tokenizer.ts";
import { makeLargeFolder } from "./engine/large-folder.ts";
import { type BenchModel, models } from "./engine/models.ts";
import { findTorch, least, type Stepped, type Stepper, startStepper } from "./engine/stepper.ts";

const rounds = Number(process.env["COA_BENCH_STEPS"] ?? 2);
const threads = Number(process.env["COA_BENCH_THREADS"] ?? 1);
const chosen = (process.env["COA_BENCH_MODELS"] ?? "0.5B,0.6B").split(",");
/** What is scored and trained on: this many rows of this many tokens, all of them targets. */
const [rowCount, rowTokens] = [2, 128];
const decoding = [1, 8, 32].map((batch) => ({ do: "decode", batch, context: 64, steps: batch === 32 ? 3 : 6 }));
const clock = threads === 1 ? "cpuMs" : "wallMs";
const perSecond = threads === 1 ? "tokens/cpu-s" : "tokens/s";

/** What the children say beside the usual. */
interface Said {
  /** Resident now. */
  bytes: number;
  tokens?: number;
  logprobs?: number[][];
  apart?: number;
}
type Answer = Said & Stepped;

export default async function bench(): Promise<Figure[]> {
  const python = findTorch(["transformers", "peft"]);
  if (!python) console.error("no python3 with torch, transformers and peft (COA_PYTHON names one): ours alone");
  const kept = process.env["COA_BENCH_FOLDER"];
  const parent = kept ?? (await mkdtemp(join(tmpdir(), "coa-large-")));
  try {
    const figures: Figure[] = [{ name: "load of the machine", value: loadavg()[0]!, unit: "" }];
    for (const size of chosen) {
      const folder = join(parent, size);
      if (!existsSync(join(folder, "config.json"))) await makeLargeFolder(folder, models[size]!.model);
      figures.push(...(await measure(size, folder, models[size]!, python?.path)));
    }
    return figures;
  } finally {
    if (kept === undefined) await rm(parent, { recursive: true, force: true });
  }
}

async function measure(size: string, folder: string, { model, lora }: BenchModel, python?: string): Promise<Figure[]> {
  const rows = await someRows(folder, model.vocabularySize);
  const setting = { folder, threads, lora, rows };
  const sides: Stepper<Said>[] = [await startStepper<Said>(process.execPath, "our-large.ts", setting)];
  if (python) sides.push(await startStepper<Said>(python, "torch-large.py", setting));
  try {
    const tokens = rowCount * rowTokens;
    const loads = sides.map((side) => [side.started]);
    const score = await inTurn(sides, { do: "score" });
    const train = await inTurn(sides, { do: "train" });
    const publish = await inTurn(sides, { do: "publish" }, 1);
    const { apart } = await sides[0]!.step({ do: "check", context: 64, steps: 8 });
    const decodes = [];
    for (const request of decoding) decodes.push({ request, taken: await inTurn(sides, request) });
    const peer = sides[1]?.name;
    const compare = compareWith(size, peer);
    return [
      compare("load", loads, (list) => least(list, clock) / 1000, "s", "less"),
      compare("resident after loading", loads, (list) => gigabytes(list.at(-1)!.bytes), "GB", "less"),
      compare("score", score, (list) => (1000 * tokens) / least(list, clock), perSecond, "more"),
      compare("score, peak memory", score, (list) => gigabytes(list.at(-1)!.peakBytes), "GB", "less"),
      compare("train an adapter", train, (list) => (1000 * tokens) / least(list, clock), perSecond, "more"),
      compare("train, peak memory", train, (list) => gigabytes(list.at(-1)!.peakBytes), "GB", "less"),
      compare("publish (PEFT: merge)", publish, (list) => least(list, clock) / 1000, "s", "less"),
      ...decodes.map(({ request: { batch, context }, taken }) =>
        compare(`decode ${batch} together after ${context} tokens`, taken, decodeRate, perSecond, "more"),
      ),
      inBounds(size, decodes.at(-1)!.taken),
      ...furthestApart(size, peer, score),
      {
        name: `${size}, the same of 8 sampled tokens`,
        value: apart!,
        unit: "nats",
        peer: "our scoring",
        target: "< 1e-3",
        met: apart! < 1e-3,
      },
    ];
  } finally {
    for (const side of sides) side.stop();
  }
}

/** Text in the folder's own tokens, or any tokens where the folder has no tokenizer. */
async function someRows(folder: string, vocabulary: number): Promise<number[][]> {
  const random = seededRandom(3);
  const count = rowCount * (rowTokens + 1);
  let tokens = Array.from({ length: count }, () => random.below(vocabulary));
  if (existsSync(join(folder, "tokenizer.json"))) {
    const guide = await readFile(join(import.meta.dirname, "../docs/guide/engine.md"), "utf8");
    tokens = [...(await loadTokenizer(folder)).encode(guide.slice(0, 10 * count))];
  }
  return Array.from({ length: rowCount }, (_, row) => tokens.slice(row * (rowTokens + 1), (row + 1) * (rowTokens + 1)));
}

/** The same of all sides, one after the other, several times. */
async function inTurn(sides: readonly Stepper<Said>[], request: object, times = rounds): Promise<Answer[][]> {
  const answers: Answer[][] = sides.map(() => []); // [side][round]
  for (let round = 0; round < times; round++) {
    for (const [index, side] of sides.entries()) {
      const answer = await side.step(request);
      answers[index]!.push(answer);
      const rate =
        answer.tokens === undefined ? "" : `, ${((1000 * answer.tokens) / answer[clock]).toFixed(2)} tokens/s`;
      const memory = `${gigabytes(answer.bytes).toFixed(2)} of ${gigabytes(answer.peakBytes).toFixed(2)} GB`;
      console.error(`${side.name}: ${JSON.stringify(request)} ${answer[clock].toFixed(0)} ms${rate}, ${memory}`);
    }
  }
  return answers;
}

const gigabytes = (bytes: number) => bytes / 2 ** 30;
const decodeRate = (list: Answer[]) => Math.max(...list.map((answer) => (1000 * answer.tokens!) / answer[clock]));

const compareWith =
  (size: string, peer?: string) =>
  (
    what: string,
    taken: Answer[][],
    read: (list: Answer[]) => number,
    unit: string,
    better: "more" | "less",
  ): Figure => {
    const [own, other] = taken.map(read) as [number, number?];
    const figure = { name: `${size}, ${what}`, value: own, unit };
    if (other === undefined) return figure;
    return {
      ...figure,
      peer: `${peer}: ${other.toPrecision(4)}`,
      ratio: better === "more" ? own / other : other / own,
    };
  };

function inBounds(size: string, taken: Answer[][]): Figure {
  const peak = gigabytes(taken[0]!.at(-1)!.peakBytes);
  return { name: `${size}, peak memory of everything`, value: peak, unit: "GB", target: "24 GB", met: peak < 24 };
}

/** How far the log-probabilities are apart at most, before anything was trained. */
function furthestApart(size: string, peer: string | undefined, taken: Answer[][]): Figure[] {
  const [own, other] = taken.map((list) => list[0]!.logprobs!.flat());
  if (!own || !other) return [];
  const apart = own.reduce((most, value, at) => Math.max(most, Math.abs(value - other[at]!)), 0);
  const name = `${size}, log-probabilities apart, at most of ${own.length}`;
  return [{ name, value: apart, unit: "nats", peer: peer!, target: "< 1e-3", met: apart < 1e-3 }];
}
