/**
 * Measures how the processor time of a reader grows with its text: four times the text may cost at most six times the
 * processor time. Growth, not time, and the best of several tries, so that a slow or busy machine changes nothing.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { HostileText } from "./texts.ts";

/** Lengths that are compared, each four times the other, from 10 kB to 1 MB. */
const steps = [
  [10_000, 40_000],
  [40_000, 160_000],
  [250_000, 1_000_000],
] as const;

/** Less than this is lost in the noise of compiling and collecting. */
const leastMs = 20;
const tries = 8;

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Of this thread: what V8 compiles and collects in others depends on how many cores are free. */
async function processorMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** What is wrong with the growth between two texts, or undefined. */
async function tooSteep(read: (text: string) => unknown, small: string, large: string): Promise<string | undefined> {
  let [least, leastLarge] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < tries; round++) {
    if (round > 0) collect(); // so that nobody pays for what an earlier try left behind
    leastLarge = Math.min(leastLarge, await processorMs(() => read(large)));
    if (leastLarge <= 6 * leastMs) return undefined; // allowed whatever the shorter one takes
    least = Math.min(least, await processorMs(() => read(small)));
    if (leastLarge <= 6 * Math.max(least, leastMs)) return undefined;
  }
  return `${small.length} characters ${least.toFixed(0)} ms, ${large.length} characters ${leastLarge.toFixed(0)} ms`;
}

/** What is wrong with how a reader takes these texts, each up to the length that `upTo` gives: the first problem of each. */
export async function sweep(
  read: (text: string) => unknown,
  texts: readonly HostileText[],
  upTo: (at: number) => number,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [at, { name, make }] of texts.entries()) {
    for (const [short, long] of steps) {
      if (long > upTo(at)) break;
      const problem = await tooSteep(read, make(short), make(long));
      if (problem === undefined) continue;
      problems.push(`${name}: ${problem}`);
      break;
    }
  }
  return problems;
}
