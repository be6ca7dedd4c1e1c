/** The system that a chain is to replace, opened from flags: as a shadow that answers, or as a fallback that is asked when needed. */
import { UsageError } from "../core/errors.ts";
import { defineTask } from "../core/task.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { OldSystemOptions } from "../serve/old-system.ts";
import type { Options, Values } from "./command.ts";
import { gradingFlags, openGrader } from "./commands/eval-grading.ts";

const { judge, "judge-model": judgeModel, "judge-url": judgeUrl } = gradingFlags;

export const oldSystemFlags = {
  shadow: { type: "string", valueName: "url", describe: "Answer from the old system at this base URL (OpenAI chat), run the chain beside it and count agreement" },
  fallback: { type: "string", valueName: "url", describe: "Ask the system at this base URL where the chain has no answer, or a check below 3" },
  "old-model": { type: "string", valueName: "name", describe: "Name of the model to ask for there (default: the first it lists)" },
  judge,
  "judge-model": judgeModel,
  "judge-url": judgeUrl,
} as const satisfies Options; // biome-ignore format: one flag a line

/** Opens what the flags name; nothing where they name nothing. The key is OPENAI_API_KEY. */
export async function openOldSystem(
  flags: Values<typeof oldSystemFlags>,
): Promise<{ options: OldSystemOptions; close(): Promise<void> }> {
  const baseURL = flags.shadow ?? flags.fallback;
  if (baseURL === undefined) return { options: {}, close: async () => {} };
  if (flags.shadow !== undefined && flags.fallback !== undefined)
    throw new UsageError("--shadow answers every request, so --fallback would never be asked: give one of them");
  const old = openaiCompatible({ baseURL, model: flags["old-model"] });
  if (flags.fallback !== undefined) return { options: { fallback: old }, close: () => old.close() };
  const kind = flags["judge-model"] === undefined ? "qa" : "judge";
  const graders = await openGrader(flags, [defineTask({ id: "shadow", question: "?", kind })], {});
  return {
    options: {
      shadow: old,
      agree: async ({ id, question }, answer, ours) =>
        (await graders.grader(defineTask({ id, question, answers: [answer], kind }), ours)).correct,
    },
    async close() {
      await graders.close();
      await old.close();
    },
  };
}
