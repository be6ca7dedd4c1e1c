/** Models: clients of servers, the engine as a model, and what wraps them. Every export is named here, one by one; what is not here is not public. */
export { cachedModel, cachedTools, openReplayModel } from "./cached-model.ts";
export { chatTemplate, chatTemplateOf, type RenderPrompt } from "./chat-template.ts";
export { type EngineModelOptions, engineModel } from "./engine-model.ts";
export { type ContinueMode, type OpenAICompatibleOptions, openaiCompatible } from "./openai-compatible.ts";
