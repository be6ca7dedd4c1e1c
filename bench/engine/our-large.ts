/**
 * The embedded engine on a folder of a real model's size: loads it, then does what each line of input asks (score, train,
 * publish, check, decode) and says what that took. Speaks JSON lines, as torch-large.py does.
 */
import { createInterface } from "node:readline";
import type { Policy } from "../../src/core/engine.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";

let { folder, threads, lora, rows, precision } = JSON.parse(process.argv[2]!) as {
  folder: string;
  threads: number;
  /** The adapter's rank; 0 trains all weights but the embedding. */
  lora: number;
  rows: number[][];
  precision?: "f32" | "8bit";
};
const examplesOf = (rows: number[][]) =>
  rows.map((tokens) => ({
    input: Int32Array.from(tokens.slice(0, -1)),
    targets: Int32Array.from(tokens.slice(1)),
    weights: new Float32Array(tokens.length - 1).fill(1 / (rows.length * (tokens.length - 1))),
  }));
const taken = () => {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    const { rss } = process.memoryUsage();
    const peakBytes = process.resourceUsage().maxRSS * 1024;
    return { wallMs: performance.now() - wall, cpuMs: (user + system) / 1e3, bytes: rss, peakBytes };
  };
};
const say = (value: object) => console.log(JSON.stringify(value));

const loading = taken();
const engine = await openEmbeddedEngine({
  folder,
  threads,
  maxBatch: 32,
  precision,
  ...(lora > 0 && { lora: { rank: lora, seed: 1 } }),
});
say({ name: `chain-of-agents${precision ? ` ${precision}` : ""}, ${engine.name}`, ...loading() });
let policy: Policy | undefined;

/** Each sequence writes `steps` tokens; counted from the moment at which all have read their prompts. */
async function decode(batch: number, context: number, steps: number) {
  policy ??= await engine.publish();
  let begun = 0;
  let written = 0;
  let done = taken();
  const prompt = rows.flat().slice(0, context);
  await Promise.all(
    Array.from({ length: batch }, (_, seed) => {
      let first = true;
      return policy!.sample({
        tokens: prompt,
        maxTokens: steps + 1,
        seed,
        onToken() {
          if (first && ++begun === batch) done = taken();
          else if (begun === batch) written++;
          first = false;
        },
      });
    }),
  );
  return { ...done(), tokens: written };
}

/** Reads a prompt that was not read before, and writes one token. */
let read = 0;
async function prefill(context: number) {
  policy ??= await engine.publish();
  const text = rows.flat();
  const start = ++read * 3;
  const done = taken();
  await policy.sample({ tokens: text.slice(start, start + context), maxTokens: 1, temperature: 0 });
  return { ...done(), tokens: context };
}

/** How far the log-probabilities that came with sampled tokens are from those of scoring, at most. */
async function sampledAgainstScored(context: number, steps: number): Promise<number> {
  policy ??= await engine.publish();
  const prompt = rows.flat().slice(0, context);
  const { tokens, logprobs } = await policy.sample({ tokens: prompt, maxTokens: steps, seed: 5 });
  const all = [...prompt, ...tokens];
  const example = { input: Int32Array.from(all.slice(0, -1)), targets: Int32Array.from(all.slice(1)) };
  const [scored] = (await engine.forward([example], { name: "cross_entropy" })).logprobs;
  return Math.max(...logprobs.map((value, at) => Math.abs(value - scored![context - 1 + at]!)));
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Record<"batch" | "context" | "steps", number> & { do: string; rows?: number[][] };
  rows = request.rows ?? rows;
  const done = taken();
  if (request.do === "score") {
    const { logprobs } = await engine.forward(examplesOf(rows), { name: "cross_entropy" });
    say({ ...done(), logprobs: logprobs.map((row) => [...row]) });
  } else if (request.do === "train") {
    await engine.forwardBackward(examplesOf(rows), { name: "cross_entropy" });
    await engine.optimStep({ learningRate: 1e-5, gradientClip: 1 });
    say(done());
  } else if (request.do === "publish") {
    policy = await engine.publish();
    say(done());
  } else if (request.do === "check") {
    say({ ...done(), apart: await sampledAgainstScored(request.context, request.steps) });
  } else if (request.do === "prefill") say(await prefill(request.context));
  else say(await decode(request.batch, request.context, request.steps));
}
process.exit(0);
