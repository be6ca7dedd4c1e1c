/** Training: SFT and RL over an engine. Every export is named here, one by one; what is not here is not public. */
export { type ExampleSource, fixedExamples } from "./example-source.ts";
export { dapoLoss, type RlOptions, type RlResult, trainRl } from "./train-rl.ts";
export { type SftOptions, type SftResult, trainSft } from "./train-sft.ts";
