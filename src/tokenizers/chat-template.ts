/**
 * Chat templates write role markers around messages, and a message may contain text that looks like a marker. Here such
 * text is hidden before the template runs: each special string inside a message becomes one unused private character, and
 * comes back as ordinary characters once the template's own markers have been told apart. So a question can't forge a
 * turn, and a harmless message is rendered exactly as the template says.
 */
import { Template } from "@huggingface/jinja";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";

/** A piece of a rendered prompt: written by the template (special strings count) or part of a message (they don't). */
export interface RenderedPrompt {
  text: string;
  /** Puts the hidden strings of messages back. */
  restore(text: string): string;
}

export interface ChatTemplate {
  render(messages: readonly Message[], specials: Iterable<string>): RenderedPrompt;
}

/** Compiles a Jinja chat template. `variables` are what the configuration offers it: `bos_token`, `eos_token`… */
export function chatTemplate(source: string, variables: Record<string, string | undefined> = {}): ChatTemplate {
  let template: Template;
  try {
    template = new Template(source);
  } catch (error) {
    throw new CoaError("format", `the chat template can't be read: ${messageOf(error)}`, { cause: error });
  }
  return {
    render(messages, specials) {
      const hiding = hideSpecials(messages, specials);
      try {
        const text = template.render({
          ...variables,
          messages: hiding.messages.map(templateMessage),
          add_generation_prompt: true,
        });
        return { text, restore: hiding.restore };
      } catch (error) {
        throw new CoaError("format", `the chat template refused the messages: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

function templateMessage(message: Message): Record<string, unknown> {
  const result: Record<string, unknown> = { role: message.role, content: message.content };
  if (message.reasoning !== undefined) result["reasoning_content"] = message.reasoning;
  if (message.name !== undefined) result["name"] = message.name;
  if (message.toolCallId !== undefined) result["tool_call_id"] = message.toolCallId;
  if (message.toolCalls?.length) {
    result["tool_calls"] = message.toolCalls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    }));
  }
  return result;
}

function hideSpecials(messages: readonly Message[], specials: Iterable<string>) {
  const all = messages.map((message) => JSON.stringify(message)).join("");
  // JSON escapes quotes and the like, but no special-token string we know of is changed by it except through `"` or `\`.
  const used = [...specials].filter((special) => all.includes(JSON.stringify(special).slice(1, -1)));
  if (used.length === 0) return { messages, restore: (text: string) => text };
  used.sort((a, b) => b.length - a.length);
  const hidden = new Map<string, string>();
  let code = 0xf0000; // a plane of private characters
  for (const special of used) {
    while (all.includes(String.fromCodePoint(code))) code++;
    hidden.set(special, String.fromCodePoint(code++));
  }
  const hide = (text: string) => {
    let result = text;
    for (const [special, character] of hidden) result = result.replaceAll(special, character);
    return result;
  };
  const restore = (text: string) => {
    let result = text;
    for (const [special, character] of hidden) result = result.replaceAll(character, special);
    return result;
  };
  const safe = messages.map((message) => ({
    ...message,
    content: hide(message.content),
    ...(message.reasoning === undefined ? {} : { reasoning: hide(message.reasoning) }),
    ...(message.name === undefined ? {} : { name: hide(message.name) }),
    ...(message.toolCalls === undefined
      ? {}
      : {
          toolCalls: message.toolCalls.map((call) => ({
            ...call,
            name: hide(call.name),
            arguments: hide(call.arguments),
          })),
        }),
  }));
  return { messages: safe, restore };
}
