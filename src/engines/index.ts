/** The engine inside Node, engines behind Tinker servers, and model files. Every export is named here, one by one; what is not here is not public. */
export { type EmbeddedEngine, type EmbeddedEngineOptions, openEmbeddedEngine } from "./embedded/embedded-engine.ts";
export { loadAdapterFolder, saveAdapterFolder } from "./embedded/files/adapter-folder.ts";
export { averageModels } from "./embedded/files/average-models.ts";
export { loadGguf, saveGguf } from "./embedded/files/gguf-model.ts";
export { ggufTokenizer } from "./embedded/files/gguf-tokenizer.ts";
export {
  type LoadedModel,
  loadModelFolder,
  type SaveModelOptions,
  saveModelFolder,
} from "./embedded/files/model-folder.ts";
export { type ModelConfig, type ModelSize, modelConfig } from "./embedded/model/config.ts";
export { type AdapterMemory, adapterMemory, loadSharedBase, type SharedBase } from "./embedded/shared-base.ts";
export { openTinkerEngine, type TinkerEngine, type TinkerEngineOptions } from "./tinker/tinker-engine.ts";
