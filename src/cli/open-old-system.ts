/** The system that a chain is to replace, opened from settings: as a shadow that answers, or as a fallback that is asked when needed. */
import { UsageError } from "../core/errors.ts";
import { defineTask } from "../core/task.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { OldSystemOptions } from "../serve/old-system.ts";
import { openGrader } from "./commands/eval-grading.ts";
import type { Settings } from "./settings/index.ts";

/** Opens what the settings name, if they name one. The key is OPENAI_API_KEY. */
export async function openOldSystem(
  settings: Settings<"serve" | "judge" | "grader">,
): Promise<{ options: OldSystemOptions; close(): Promise<void> }> {
  const { shadow, fallback, oldModel: model } = settings.serve;
  const baseURL = shadow ?? fallback;
  if (baseURL === undefined) return { options: {}, close: async () => {} };
  if (shadow !== undefined && fallback !== undefined)
    throw new UsageError("--shadow answers every request, so --fallback would never be asked: give one of them");
  const old = openaiCompatible({ baseURL, model });
  if (fallback !== undefined) return { options: { fallback: old }, close: () => old.close() };
  const kind = settings.judge.model === undefined ? "qa" : "judge";
  const graders = await openGrader(settings, [defineTask({ id: "shadow", question: "?", kind })], {});
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
