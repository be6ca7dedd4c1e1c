/** A compliance check by a model: does the chain keep to its instructions, beyond what the grammar can see? */
import { atBoundary, CoaError } from "../core/errors.ts";
import type { ChatModel } from "../core/model.ts";
import { trajectoryText } from "../core/trajectory.ts";
import type { ComplianceCheck } from "./stages/quality.ts";

const instructions = `You check the record of a problem solver who writes in tagged roles. Point out a clear breach of the instructions it was given: a plan that plans nothing, a tool called for no reason, a reflection or check that contradicts what was observed, an answer that the observations do not support, or a role that does another role's work. Style does not matter. Reply with one JSON object: {"complies": true} or {"complies": false, "problem": "one sentence"}.`;

/** Makes the check. A reply that can't be read is asked for again, then it is an error and not a verdict. */
export function modelCheck(model: ChatModel, options: { attempts?: number } = {}): ComplianceCheck {
  const { attempts = 3 } = options;
  return async (trajectory, signal) => {
    const prompt = trajectory.prompt.map((message) => `${message.role}: ${message.content}`).join("\n\n");
    for (let attempt = 1; ; attempt++) {
      const reply = await atBoundary("model", `${model.name} checking ${trajectory.id}`, () =>
        model.chat({
          messages: [
            { role: "system", content: instructions },
            {
              role: "user",
              content: `Instructions and question:\n${prompt}\n\nRecord:\n${trajectoryText(trajectory.segments)}`,
            },
          ],
          json: true,
          temperature: 0,
          signal,
        }),
      );
      const verdict = readVerdict(reply.text);
      if (verdict !== undefined) return verdict;
      if (attempt >= attempts) throw new CoaError("model", `${model.name} gave no verdict in ${attempts} attempts`);
    }
  };
}

/** Null for "complies", the problem otherwise; undefined where the reply can't be read. */
function readVerdict(text: string): string | null | undefined {
  try {
    const reply = JSON.parse(/\{[\s\S]*\}/.exec(text)?.[0] ?? "") as { complies?: unknown; problem?: unknown };
    if (reply.complies === true) return null;
    if (reply.complies === false)
      return typeof reply.problem === "string" && reply.problem !== "" ? reply.problem : "no reason given";
  } catch {
    // Not JSON: the caller asks again.
  }
  return undefined;
}
