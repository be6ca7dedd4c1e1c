/** The three sizes of the quickstart, for 2 cores: about 4 minutes, at most 15, and up to two hours. */

export interface QuickstartSettings {
  /** Tasks that the team solves in training worlds, and how many pages each world has. */
  teamTasks: number;
  tasksPerWorld: number;
  pages: number;
  vocabulary: number;
  model: { hiddenSize: number; layers: number; heads: number; kvHeads: number; intermediateSize: number };
  sft: { drillSteps: number; easySteps: number; steps: number; batchTokens: number; matrixRate: number; rate: number };
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
    sft: { drillSteps: 40, easySteps: 60, steps: 300, batchTokens: 3072, matrixRate: 5e-3, rate: 1.5e-3 },
    rl: { steps: 3, groups: 16, samples: 8, rate: 3e-4 },
    testTasks: 200,
  },
  default: {
    teamTasks: 5000,
    tasksPerWorld: 40,
    pages: 600,
    vocabulary: 768,
    model: small,
    sft: { drillSteps: 60, easySteps: 100, steps: 950, batchTokens: 3072, matrixRate: 5e-3, rate: 1.5e-3 },
    rl: { steps: 12, groups: 24, samples: 8, rate: 3e-4 },
    testTasks: 1000,
  },
  full: {
    teamTasks: 40_000,
    tasksPerWorld: 40,
    pages: 600,
    vocabulary: 768,
    model: large,
    sft: { drillSteps: 80, easySteps: 150, steps: 5500, batchTokens: 3072, matrixRate: 5e-3, rate: 1.5e-3 },
    rl: { steps: 24, groups: 32, samples: 8, rate: 3e-4 },
    testTasks: 1000,
  },
};
