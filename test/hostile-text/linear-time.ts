/**
 * Measures how the processor time of a reader grows with its text: four times the text may cost at most six times the
 * processor time. Growth, not time, and the best of several tries, so that a slow or busy machine changes nothing.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { hostileText, motifs } from "./texts.ts";

/** The sizes that are compared, each with the next. */
export const sizes = [16_000, 64_000, 256_000, 1_000_000] as const;

/** Less than this is lost in the noise of compiling and collecting. */
const leastMs = 20;
const tries = 8;

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** What is wrong with the growth between two texts, or undefined. */
async function tooSteep(read: (text: string) => unknown, small: string, large: string): Promise<string | undefined> {
  let [least, leastLarge] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < tries; round++) {
    if (round > 0) collect(); // so that nobody pays for what an earlier try left behind
    leastLarge = Math.min(leastLarge, await processorMs(() => read(large)));
    if (leastLarge <= 6 * leastMs) return undefined; // even for an immeasurably small time this is allowed
    least = Math.min(least, await processorMs(() => read(small)));
    if (leastLarge <= 6 * Math.max(least, leastMs)) return undefined;
  }
  return `${small.length} characters ${least.toFixed(0)} ms, ${large.length} characters ${leastLarge.toFixed(0)} ms`;
}

/** Every motif with one choice of starts and ends, up to the size that `upTo` gives: the first problem of each motif. */
export async function sweep(
  read: (text: string) => unknown,
  salt: number,
  upTo: (at: number) => number,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [at, motif] of motifs.entries()) {
    const steps = sizes.filter((size) => size <= upTo(at));
    for (const [step, size] of steps.slice(0, -1).entries()) {
      const [small, large] = [hostileText(at, salt, size), hostileText(at, salt, steps[step + 1]!)];
      const problem = await tooSteep(read, small, large);
      if (problem === undefined) continue;
      problems.push(`${JSON.stringify(motif)} repeated after ${JSON.stringify(small.slice(0, 12))}: ${problem}`);
      break;
    }
  }
  return problems;
}
