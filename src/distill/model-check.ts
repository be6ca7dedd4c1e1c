/** A compliance check by a model: does the chain keep to its instructions, beyond what the grammar can see? */
import { z } from "zod";
import { askForJson } from "../base/work/ask-json.ts";
import { atBoundary, CoaError } from "../core/errors.ts";
import type { ChatModel } from "../core/model.ts";
import { trajectoryText } from "../core/trajectory.ts";
import type { ComplianceCheck } from "./stages/quality.ts";

const instructions = `You check the record of a problem solver who writes in tagged roles. Point out a clear breach of the instructions it was given: a plan that plans nothing, a tool called for no reason, a reflection or check that contradicts what was observed, an answer that the observations do not support, or a role that does another role's work. Style does not matter. Reply with one JSON object: {"complies": true} or {"complies": false, "problem": "one sentence"}.`;

const verdictSchema = z.object({ complies: z.boolean(), problem: z.string().optional() });

/** Makes the check: null for a chain that complies, the problem otherwise. A reply that can't be read is an error, not a verdict. */
export function modelCheck(model: ChatModel): ComplianceCheck {
  return async (trajectory, signal) => {
    const prompt = trajectory.prompt.map((message) => `${message.role}: ${message.content}`).join("\n\n");
    const content = `Instructions and question:\n${prompt}\n\nRecord:\n${trajectoryText(trajectory.segments)}`;
    const messages = [
      { role: "system" as const, content: instructions },
      { role: "user" as const, content },
    ];
    const verdict = await atBoundary("model", `${model.name} checking ${trajectory.id}`, () =>
      askForJson(async (asked) => (await model.chat(asked)).text, { messages, temperature: 0, signal }, verdictSchema),
    );
    if ("problem" in verdict) throw new CoaError("model", `${model.name} gave no verdict: ${verdict.problem}`);
    return verdict.value.complies ? null : verdict.value.problem || "no reason given";
  };
}
