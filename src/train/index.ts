/** Training: SFT and RL over an engine. Every export is named here, one by one; what is not here is not public. */

export { derivedSeed } from "../base/work/random.ts";
export type { Baseline } from "./advantages.ts";
export { type ChainRolloutOptions, chainRollout } from "./chain-rollout.ts";
export { checkCorrector } from "./check-corrector.ts";
export { corrections } from "./corrections.ts";
export { type Credit, fromFirstFault, sharedPrefix } from "./credit.ts";
export { type ExampleSource, fixedExamples } from "./example-source.ts";
export type { ExtraLoss, ExtraLossStep } from "./extra-loss.ts";
export { guard } from "./guard.ts";
export {
  type CollectSettings,
  dapoLoss,
  type KeepSettings,
  type RlOptions,
  type RlSchedule,
  type TaskDraw,
  type UpdateSettings,
} from "./rl-options.ts";
export type { RolloutRun } from "./run-rollout.ts";
export { type SaveTrainedOptions, saveTrained } from "./save-trained.ts";
export type { Schedule } from "./schedule.ts";
export { type TeamCorrectorOptions, teamCorrector } from "./team-corrector.ts";
export { engineTeacher, type TokenTeacher, teacher } from "./token-teacher.ts";
export { type RlResult, trainRl } from "./train-rl.ts";
export { type SftOptions, type SftResult, trainSft } from "./train-sft.ts";
