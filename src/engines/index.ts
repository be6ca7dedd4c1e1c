/** The engine inside Node, engines behind Tinker servers, and model files. Every export is named here, one by one; what is not here is not public. */
export { type EmbeddedEngine, type EmbeddedEngineOptions, openEmbeddedEngine } from "./embedded/embedded-engine.ts";
export { type AverageOptions, averageModels } from "./embedded/files/average-models.ts";
export { ggufToFolder } from "./embedded/files/gguf-folder.ts";
export type { SaveModelOptions } from "./embedded/files/model-folder.ts";
export type { TensorType } from "./embedded/files/safetensors.ts";
export type { LoraOptions } from "./embedded/lora/adapter.ts";
export { type ModelConfig, type ModelSize, modelConfig } from "./embedded/model/config.ts";
export type { Parameter, ParameterSet } from "./embedded/model/parameter-set.ts";
export type { InitialOptions } from "./embedded/model/parameters.ts";
export type { OptimizerName } from "./embedded/optim/optimizer.ts";
export type { SharedBase } from "./embedded/shared-base.ts";
export { openTinkerEngine, type TinkerEngine, type TinkerEngineOptions } from "./tinker/tinker-engine.ts";
