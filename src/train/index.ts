/** Training: SFT and RL over an engine. Every export is named here, one by one; what is not here is not public. */
export { checkCorrector } from "./check-corrector.ts";
export { type ExampleSource, fixedExamples } from "./example-source.ts";
export { creditAfterFault } from "./fault-credit.ts";
export { type TeamCorrectorOptions, teamCorrector } from "./team-corrector.ts";
export { engineTeacher, type TokenTeacher } from "./token-teacher.ts";
export { dapoLoss, type RlOptions, type RlResult, trainRl } from "./train-rl.ts";
export { type SftOptions, type SftResult, trainSft } from "./train-sft.ts";
export { afterFirstFault, type BranchAt } from "./tree-groups.ts";
