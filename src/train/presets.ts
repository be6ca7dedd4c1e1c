/**
 * Settings of reinforcement that were found to learn without losing what a model already knows: the quickstart uses them, and
 * `coa train rl --preset` asks for them by name. What differs between them is what a reward speaks about.
 */
import type { Schedule } from "./schedule.ts";

/** The rate falls: one that suits the first steps would in the last ones damage what the model already knows. */
export const fallingRate = { decay: "linear", decayShare: 1, floor: 0.2 } as const satisfies Partial<Schedule>;

/** Both kinds of practice compare with the least noise, move the weights by what was found, and end with a mean of the last steps. */
const practice = { samples: 8, baseline: "least-variance", rateByGroups: true } as const;

/** By name: the settings of `train` that each stands for. */
export const rlPresets = {
  /** Answers that can be checked: all of a rollout is credited. */
  verifiable: { ...practice, steps: 30, groups: 16, passes: 2, updates: 2, average: 0.5 },
  /**
   * Tools that fail: the rollouts of a task share a chain up to its first fault and are credited for what follows; a quarter of the
   * starting weights and imitation of what the model did right where tools work keep what is not practised.
   */
  faults: {
    ...practice,
    ...({ steps: 16, groups: 12, passes: 1, updates: 3, average: 1 / 3, startShare: 0.25 } as const),
    ...({ credit: "branch-at-fault", guard: "own" } as const),
  },
} as const;

/** Half of all searches fail, one way or the other. */
export const practisedFaults = "web_search:empty=0.25,web_search:timeout=0.25";
