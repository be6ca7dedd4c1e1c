/** The three sizes of the quickstart, for 2 cores: about 4 minutes, at most 15, and up to two hours. */

export interface QuickstartSettings {
  /** Tasks that the team solves in training worlds, and how many pages each world has. */
  teamTasks: number;
  tasksPerWorld: number;
  pages: number;
  vocabulary: number;
  model: { hiddenSize: number; layers: number; heads: number; kvHeads: number; intermediateSize: number };
  sft: {
    copySteps: number;
    easySteps: number;
    steps: number;
    /** Training worlds whose pages become reading examples. */
    readingWorlds: number;
    batchTokens: number;
    matrixRate: number;
    rate: number;
    /** A second round, at this share of the rates; reading examples are then used in it alone. */
    secondRound?: { peak: number; readingSteps: number; steps: number };
  };
  rl: { steps: number; groups: number; samples: number; rate: number };
  testTasks: number;
}

const small = { hiddenSize: 128, layers: 4, heads: 4, kvHeads: 4, intermediateSize: 384 };
const large = { hiddenSize: 192, layers: 4, heads: 6, kvHeads: 6, intermediateSize: 576 };

/** Settings by name; `default` is what `npm start` runs. */
export const quickstartSizes: Record<"fast" | "default" | "full", QuickstartSettings> = {
  fast: {
    teamTasks: 1500,
    tasksPerWorld: 40,
    pages: 600,
    vocabulary: 768,
    model: small,
    sft: {
      copySteps: 40,
      easySteps: 80,
      steps: 280,
      readingWorlds: 0,
      batchTokens: 3072,
      matrixRate: 5e-3,
      rate: 1.5e-3,
    },
    rl: { steps: 2, groups: 8, samples: 8, rate: 2e-4 },
    testTasks: 200,
  },
  default: {
    teamTasks: 5000,
    tasksPerWorld: 40,
    pages: 600,
    vocabulary: 768,
    model: small,
    sft: {
      copySteps: 60,
      easySteps: 300,
      steps: 750,
      readingWorlds: 12,
      batchTokens: 3072,
      matrixRate: 5e-3,
      rate: 1.5e-3,
    },
    rl: { steps: 12, groups: 24, samples: 8, rate: 2e-4 },
    testTasks: 1000,
  },
  full: {
    teamTasks: 40_000,
    tasksPerWorld: 40,
    pages: 600,
    vocabulary: 768,
    model: large,
    sft: {
      copySteps: 80,
      easySteps: 150,
      steps: 5500,
      readingWorlds: 160,
      batchTokens: 3072,
      matrixRate: 5e-3,
      rate: 1.5e-3,
      secondRound: { peak: 0.4, readingSteps: 700, steps: 800 },
    },
    rl: { steps: 12, groups: 32, samples: 8, rate: 2e-4 },
    testTasks: 1000,
  },
};
