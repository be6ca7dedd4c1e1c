/** The engine inside Node, engines behind Tinker servers, and model files. Every export is named here, one by one; what is not here is not public. */
export { type EmbeddedEngine, type EmbeddedEngineOptions, openEmbeddedEngine } from "./embedded/embedded-engine.ts";
export { ggufToFolder } from "./embedded/files/gguf-model.ts";
export { averageModels } from "./embedded/files/model-folder.ts";
export { type ModelConfig, type ModelSize, modelConfig } from "./embedded/model/config.ts";
export { openTinkerEngine, type TinkerEngine, type TinkerEngineOptions } from "./tinker/tinker-engine.ts";
