/**
 * How training throughput changes as rows, lengths and widths grow: one size varies at a time around a model of hidden size
 * 128, 4 layers, vocabulary 512, 8 rows of 256 tokens. The bars make the table a plot.
 */
import type { Figure } from "../scripts/bench.ts";
import { modelConfig } from "../src/engines/embedded/model/config.ts";
import { initialParameters } from "../src/engines/embedded/model/parameters.ts";
import { openRuntime } from "../src/engines/embedded/runtime/runtime.ts";
import { createTrainer } from "../src/engines/embedded/train/create-trainer.ts";

const middle = { rows: 8, length: 256, width: 128 };
const settings = [
  ...[1, 2, 4, 8, 16].map((rows) => ({ name: `${rows} rows`, ...middle, rows })),
  ...[64, 128, 256, 512, 1024].map((length) => ({ name: `length ${length}`, ...middle, length, rows: 2048 / length })),
  ...[64, 128, 192, 256].map((width) => ({ name: `hidden size ${width}`, ...middle, width })),
];

export default async function bench(): Promise<Figure[]> {
  const runtime = openRuntime();
  const rates: number[] = [];
  for (const { rows, length, width } of settings) {
    const config = modelConfig({
      vocabularySize: 512,
      hiddenSize: width,
      layers: 4,
      heads: width / 32,
      maxContext: 1024,
    });
    const trainer = createTrainer({ config, parameters: initialParameters(config, 1), runtime });
    const examples = Array.from({ length: rows }, () => {
      const ids = Int32Array.from({ length: length + 1 }, () => Math.floor(Math.random() * 512));
      return { input: ids.slice(0, -1), targets: ids.slice(1) };
    });
    let least = Number.POSITIVE_INFINITY;
    for (let step = 0; step < 5; step++) {
      const start = performance.now();
      await trainer.forwardBackward(examples, { name: "cross_entropy" });
      await trainer.optimStep({ learningRate: 1e-4 });
      least = Math.min(least, performance.now() - start);
    }
    rates.push((1000 * rows * length) / least);
    await trainer.close();
  }
  const top = Math.max(...rates);
  return settings.map(({ name }, index) => ({
    name,
    value: rates[index]!,
    unit: `tokens/s ${"#".repeat(Math.round((40 * rates[index]!) / top))}`,
  }));
}
