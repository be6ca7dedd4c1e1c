/** How models that were taught in the lab are used: the lab's profile and tools, the bare question, short turns. */
import type { ModelTraining, ModelUse } from "../core/model-use.ts";
import { toolJsonSchema } from "../core/tool.ts";
import { createWorld } from "./create-world.ts";
import { memoryLabTools } from "./memory-lab-tools.ts";
import { labProfile } from "./profile.ts";

/** Limits of lab chains: a small model knows short turns. */
export const labLimits = { maxSteps: 16, maxTokensPerCall: 200, maxCompletionTokens: 700, answerReserve: 24 };

/** The `coa.json` of a model taught in the lab. */
export function labModelUse(training: readonly ModelTraining[]): ModelUse {
  const tools = memoryLabTools(createWorld({ seed: 0, pages: 20 }));
  return {
    version: 1,
    language: {
      profile: labProfile,
      tools: tools.map((tool) => ({
        name: tool.name,
        description: tool.description,
        inputSchema: toolJsonSchema(tool) as Record<string, unknown>,
      })),
    },
    question: "bare",
    limits: labLimits,
    world: "lab",
    training: [...training],
  };
}
