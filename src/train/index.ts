/** Training: SFT and RL over an engine. Every export is named here, one by one; what is not here is not public. */

export { derivedSeed } from "../base/work/random.ts";
export { type ChainRolloutOptions, chainRollout } from "./chain-rollout.ts";
export { type Credit, fromFirstFault } from "./credit.ts";
export { type ExampleSource, fixedExamples } from "./example-source.ts";
export { type ExtraLoss, guard } from "./extra-loss.ts";
export type { RlOptions } from "./rl-options.ts";
export type { RolloutRun } from "./run-rollout.ts";
export { type SaveTrainedOptions, saveTrained } from "./save-trained.ts";
export type { Schedule } from "./schedule.ts";
export { type RlResult, trainRl } from "./train-rl.ts";
export { type SftOptions, type SftResult, trainSft } from "./train-sft.ts";
