/** What other people's tests need: a scripted model, a tool in memory. */
export { tableTool } from "./memory-tools.ts";
export { type Script, type ScriptedModelOptions, scriptedModel } from "./scripted-model.ts";
