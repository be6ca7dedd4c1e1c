/** Models: clients of servers, the engine as a model, and what wraps them. Every export is named here, one by one; what is not here is not public. */

export { chatTemplateOf } from "../tokenizers/chat-template.ts";
export { engineModel } from "./engine-model.ts";
export { type OpenAICompatibleOptions, openaiCompatible } from "./openai-compatible.ts";
