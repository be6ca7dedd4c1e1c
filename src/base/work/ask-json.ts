/** Asking a model for a JSON object: read as models write it, and asked for again with what was wrong. */
import type { z } from "zod";
import { messageOf } from "../../core/errors.ts";
import type { ChatRequest } from "../../core/model.ts";
import { jsonIn } from "../text/relaxed-json.ts";

/** How often the object is asked for. */
const tries = 3;

/** An object of this shape from the model's reply, or what was wrong with the last reply. */
export async function askForJson<T>(
  ask: (request: ChatRequest) => Promise<string>,
  request: ChatRequest,
  schema: z.ZodType<T>,
): Promise<{ value: T } | { problem: string }> {
  let problem = "";
  for (let asked = 0; asked < tries; asked++) {
    const again = `\n\nYour last reply could not be used (${problem}). Reply with the JSON object alone.`;
    const messages = request.messages.map((message, index, { length }) =>
      asked > 0 && index === length - 1 ? { ...message, content: message.content + again } : message,
    );
    const reply = await ask({ ...request, messages, json: true });
    try {
      const parsed = schema.safeParse(jsonIn(reply));
      if (parsed.success) return { value: parsed.data };
      const issue = parsed.error.issues[0];
      problem = `the JSON has another shape: ${issue?.path.join(".")}: ${issue?.message}`;
    } catch (error) {
      problem = `no JSON object: ${messageOf(error)}`;
    }
  }
  return { problem };
}
