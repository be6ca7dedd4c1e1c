/**
 * Batches of chains as training meets them: which lengths, and which of their tokens are taught. `lab` are chains distilled from
 * the lab's team, in the lab's tokens; `rollouts` are groups of eight chains after one prompt; `web` is made up after the
 * paper's web agents: a long prompt, then thoughts and calls that are taught between pages that are not, up to 4,096 tokens.
 */
import { join } from "node:path";
import { type SeededRandom, seededRandom } from "../../src/base/work/random.ts";
import type { Example } from "../../src/core/engine.ts";
import { trajectoryToExample } from "../../src/dataset/trajectory-to-example.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";
import { labRuns } from "../../test/distill/lab-runs.ts";

/** Chains of the lab, as the quickstart trains them. */
export async function labChains(count: number, seed = 5): Promise<Example[]> {
  const tokenizer = await loadTokenizer(join(import.meta.dirname, "../../weights/afm-lab-2m"));
  const { runs } = await labRuns({ count, seed });
  return runs.flatMap((run) => {
    const { trajectory } = distillRun(run, { profile: labProfile, systemPrompt: false });
    return trajectory ? (trajectoryToExample(trajectory, tokenizer).example ?? []) : [];
  });
}

/** The same chains as rollouts: groups of eight that answer one prompt of `promptTokens` tokens. */
export function rolloutChains(chains: readonly Example[], promptTokens: number, seed = 5): Example[] {
  const random = seededRandom(seed, "prompts");
  let prompt: number[] = [];
  return chains.map((chain, index) => {
    if (index % 8 === 0) prompt = Array.from({ length: promptTokens }, () => random.below(700));
    const own = chain.weights!.findIndex((weight) => weight !== 0);
    return toExample(
      [...prompt, ...chain.input.subarray(own), chain.targets.at(-1)!],
      [...prompt.map(() => 0), 0, ...chain.weights!.subarray(own)],
    );
  });
}

/** Made-up chains of the open web. */
export function webChains(count: number, vocabulary: number, seed = 5): Example[] {
  return Array.from({ length: count }, (_, index) => {
    const random = seededRandom(seed, index);
    const tokens: number[] = [];
    const weights: number[] = [];
    const add = (length: number, weight: number) => {
      for (let at = 0; at < length; at++) {
        tokens.push(random.below(vocabulary));
        weights.push(weight);
      }
    };
    const between = (low: number, high: number, from: SeededRandom) => low + from.below(high - low);
    add(between(300, 600, random), 0);
    const turns = between(3, 12, random);
    for (let turn = 0; turn < turns; turn++) {
      add(between(60, 160, random), 1);
      add(between(150, 450, random), 0);
    }
    add(between(80, 200, random), 1);
    return toExample(tokens.slice(0, 4097), weights.slice(0, 4097));
  });
}

function toExample(tokens: readonly number[], weights: readonly number[]): Example {
  return {
    input: Int32Array.from(tokens.slice(0, -1)),
    targets: Int32Array.from(tokens.slice(1)),
    weights: Float32Array.from(weights.slice(1)),
  };
}
