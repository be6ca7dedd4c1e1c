/** The three sizes of the quickstart, for 2 cores: at most 4 minutes, about 9, and up to two hours. */

import type { disturbances } from "../memory-lab-tools.ts";

export interface QuickstartSettings {
  /** Tasks that the team solves in training worlds, and how many pages each world has. */
  teamTasks: number;
  tasksPerWorld: number;
  pages: number;
  vocabulary: number;
  model: { hiddenSize: number; layers: number; heads: number; kvHeads: number; intermediateSize: number };
  /** `shipped`: the shipped model replaces supervised training. */
  sft:
    | "shipped"
    | {
        copySteps: number;
        easySteps: number;
        steps: number;
        /** Training worlds whose pages become reading examples. */
        readingWorlds: number;
        batchTokens: number;
        matrixRate: number;
        rate: number;
        /** A second round, at this share of the rates. With reading steps of its own, reading examples are used in it alone. */
        secondRound?: { peak: number; readingSteps: number; steps: number };
      };
  /** What fails while RL practises, and in the rows that measure it: something that the demonstrations never show. */
  failing: keyof typeof disturbances;
  rl: { steps: number; groups: number; samples: number; rate: number };
  testTasks: number;
}

const small = { hiddenSize: 128, layers: 4, heads: 4, kvHeads: 4, intermediateSize: 384 };
const large = { hiddenSize: 192, layers: 4, heads: 6, kvHeads: 6, intermediateSize: 576 };
const worlds = { tasksPerWorld: 40, pages: 600, vocabulary: 768 };
const rates = { batchTokens: 3072, matrixRate: 5e-3, rate: 1.5e-3 };

/** Settings by name; `default` is what `npm start` runs. */
export const quickstartSizes: Record<"fast" | "default" | "full", QuickstartSettings> = {
  fast: {
    teamTasks: 200,
    ...worlds,
    model: large,
    sft: "shipped",
    // The shipped model was shown searches that find nothing, and none that time out.
    failing: "timeouts",
    rl: { steps: 10, groups: 8, samples: 8, rate: 3e-4 },
    testTasks: 200,
  },
  default: {
    teamTasks: 5000,
    ...worlds,
    model: small,
    sft: {
      copySteps: 60,
      easySteps: 300,
      steps: 700,
      readingWorlds: 12,
      ...rates,
      secondRound: { peak: 0.3, readingSteps: 0, steps: 200 },
    },
    failing: "empty",
    rl: { steps: 11, groups: 10, samples: 8, rate: 3e-4 },
    testTasks: 500,
  },
  full: {
    teamTasks: 40_000,
    ...worlds,
    model: large,
    sft: {
      copySteps: 80,
      easySteps: 150,
      steps: 5500,
      readingWorlds: 160,
      ...rates,
      secondRound: { peak: 0.4, readingSteps: 700, steps: 800 },
    },
    failing: "empty",
    rl: { steps: 16, groups: 12, samples: 8, rate: 3e-4 },
    testTasks: 1000,
  },
};
