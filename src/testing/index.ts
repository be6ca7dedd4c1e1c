/** What other people's tests need: a scripted model, a byte tokenizer, a tabular engine, a tool in memory, conformance suites. */
export { byteTokenizer } from "./byte-tokenizer.ts";
export { type EngineConformanceOptions, engineConformance } from "./engine-conformance.ts";
export { tableTool } from "./memory-tools.ts";
export { type ConformanceCase, type MakeModel, type ModelUnderTest, modelConformance } from "./model-conformance.ts";
export {
  type Fault,
  type ModelServer,
  type ModelServerOptions,
  type ServedRequest,
  startModelServer,
} from "./model-server.ts";
export { type Script, type ScriptedModelOptions, scriptedModel } from "./scripted-model.ts";
export { tabularEngine, tokenLoss } from "./tabular-engine.ts";
