/** What other people's tests need: a scripted model, a scripted model server, a tool in memory. */
export { tableTool } from "./memory-tools.ts";
export {
  type Fault,
  type ModelServer,
  type ModelServerOptions,
  type ServedRequest,
  startModelServer,
} from "./model-server.ts";
export { type Script, type ScriptedModelOptions, scriptedModel } from "./scripted-model.ts";
