/** The system that a chain is to replace, opened from settings: as a shadow that answers, or as a fallback that is asked when needed. */
import { UsageError } from "../core/errors.ts";
import { defineTask } from "../core/task.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { OldSystemOptions } from "../serve/old-system.ts";
import { openGrader } from "./commands/eval-grading.ts";
import type { Session } from "./session.ts";
import type { Settings } from "./settings/index.ts";

/** Opens what the settings name, if they name one. The key is OPENAI_API_KEY. */
export async function openOldSystem(
  settings: Settings<"serve" | "judge" | "grader">,
  session: Session,
): Promise<OldSystemOptions> {
  const { shadow, fallback, oldModel: model } = settings.serve;
  const baseURL = shadow ?? fallback;
  if (baseURL === undefined) return {};
  if (shadow !== undefined && fallback !== undefined)
    throw new UsageError("--shadow answers every request, so --fallback would never be asked: give one of them");
  const old = session.closeAtEnd(openaiCompatible({ baseURL, model }));
  if (fallback !== undefined) return { fallback: old };
  const kind = settings.judge.model === undefined ? "qa" : "judge";
  const { grader } = await openGrader(settings, session, [defineTask({ id: "shadow", question: "?", kind })]);
  return {
    shadow: old,
    agree: async ({ id, question }, answer, ours) =>
      (await grader(defineTask({ id, question, answers: [answer], kind }), ours)).correct,
  };
}
