/**
 * A chain as plain turns, for APIs that can neither continue a message nor complete raw text: what the model wrote is its
 * message, an observation is a message by the user. Observations cannot contain the tag themselves (the runtime
 * neutralises them), so splitting at it is safe.
 */
import type { Message } from "../core/message.ts";

/** The messages of a chain so far; a chain that stopped in the middle is asked to continue. */
export function turnsOf(prompt: readonly Message[], text: string, observation = "observation"): Message[] {
  const messages: Message[] = [...prompt];
  const pattern = new RegExp(`\\s*(<${observation}>[\\s\\S]*?</${observation}>)\\s*`);
  const parts = text.split(pattern);
  parts.forEach((part, index) => {
    if (part === "") return;
    const role = index % 2 === 1 ? "user" : "assistant";
    const last = messages.at(-1);
    if (last?.role === role) messages[messages.length - 1] = { role, content: `${last.content}\n${part}` };
    else messages.push({ role, content: part });
  });
  if (messages.at(-1)?.role === "assistant") {
    messages.push({ role: "user", content: "Go on exactly where you stopped. Do not repeat anything." });
  }
  return messages;
}

/**
 * The same as one message by the user. Templates of models that think (Qwen3, DeepSeek) drop what stands before the last
 * closing think tag of an assistant's message, plans and observations among it; what the user says they leave alone.
 */
export function workSoFar(prompt: readonly Message[], text: string): Message[] {
  const last = prompt.at(-1);
  const asked = last?.role === "user" ? `${last.content}\n\n` : "";
  const content = `${asked}Your work so far:\n\n${text}\n\nGo on exactly where you stopped. Do not repeat anything.`;
  return [...(asked === "" ? prompt : prompt.slice(0, -1)), { role: "user", content }];
}
