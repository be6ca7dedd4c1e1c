/**
 * A whole conversation through a model's own chat template, cut into what the model writes and what it is given. Some
 * templates leave out part of what a model wrote (text before a closing think tag, thoughts of earlier turns): nothing is
 * trained on or sent through such a template unseen, every conversation is compared with what came out.
 */
import { CoaError, messageOf } from "../core/errors.ts";
import { parseJson } from "../core/json-value.ts";
import { boundedTemplate } from "./bounded-template.ts";
import { templateIn } from "./chat-template.ts";

/** A message in OpenAI's form, as templates read it. */
export interface TemplateMessage {
  role: string;
  content: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** A part of a rendered conversation: the model's own turn with the marker that ends it, or what stands around it. */
export interface ConversationPiece {
  role: "context" | "assistant";
  content: string;
}

/** Renders a conversation; throws with the template's name where it would not show what the model wrote. */
export type RenderConversation = (
  messages: readonly TemplateMessage[],
  tools?: readonly object[],
) => ConversationPiece[];

/** For TRL's `assistant_only_loss`: conversations that are already rendered, with marks around what the model wrote. */
export const generationTemplate =
  "{%- for message in messages -%}{%- if message['role'] == 'assistant' -%}{% generation %}{{ message['content'] }}{% endgeneration %}{%- else -%}{{ message['content'] }}{%- endif -%}{%- endfor -%}";

/** The template of a model folder in Hugging Face layout. */
export async function conversationTemplateOf(folder: string): Promise<RenderConversation> {
  const [source, variables] = await templateIn(folder);
  return conversationTemplate(source, `the chat template of ${folder}`, variables);
}

export function conversationTemplate(
  source: string,
  name: string,
  variables: Record<string, string> = {},
): RenderConversation {
  const template = boundedTemplate(source);
  const fill = (messages: readonly TemplateMessage[], tools: readonly object[], asks: boolean) => {
    try {
      const shown = messages.map((message) => ({ ...message, ...callsAsValues(message) }));
      const given = tools.length > 0 ? { tools } : {};
      return template({ ...variables, ...given, messages: shown, add_generation_prompt: asks });
    } catch (error) {
      throw new CoaError("format", `${name} refuses the conversation: ${messageOf(error)}`, { cause: error });
    }
  };
  let end: string | undefined;
  return (messages, tools = []) => {
    end ??= endMarker((probe) => fill(probe, [], false), name);
    const whole = fill(messages, tools, false);
    const pieces: ConversationPiece[] = [];
    let done = 0;
    for (const [index, message] of messages.entries()) {
      if (message.role !== "assistant") continue;
      const before = fill(messages.slice(0, index), tools, true);
      if (!whole.startsWith(before)) throw lost(name, "writes earlier turns differently once more follow");
      const stop = whole.indexOf(end, before.length) + end.length;
      const written = whole.slice(before.length, stop);
      const parts = [message.content.trim(), ...(message.tool_calls ?? []).map((call) => call.function.name)];
      const missing = parts.find((part) => !written.includes(part));
      if (missing !== undefined) throw lost(name, `leaves out ${JSON.stringify(lostPart(missing, written))}`);
      pieces.push(
        { role: "context", content: whole.slice(done, before.length) },
        { role: "assistant", content: written },
      );
      done = stop;
    }
    if (done < whole.length) pieces.push({ role: "context", content: whole.slice(done) });
    return pieces;
  };
}

/** Templates print arguments as values; OpenAI's form has them as text. */
function callsAsValues({ tool_calls: calls }: TemplateMessage): object {
  if (!calls) return {};
  const value = (text: string) => parseJson(text) ?? text;
  return {
    tool_calls: calls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: value(call.function.arguments) },
    })),
  };
}

/** What a template writes right after a turn of the model. */
function endMarker(fill: (messages: readonly TemplateMessage[]) => string, name: string): string {
  const said = "Mark.";
  const text = fill([
    { role: "user", content: "Begin." },
    { role: "assistant", content: said },
  ]);
  const marker = /^\s*(<[^<>\s]{1,40}>|\[[^[\]\s]{1,40}\])/.exec(text.slice(text.indexOf(said) + said.length))?.[0];
  if (marker === undefined) throw new CoaError("format", `${name} has no marker that ends a turn of the model`);
  return marker;
}

/** The beginning of what a rendered turn lacks. */
function lostPart(part: string, written: string): string {
  let kept = part.length;
  while (kept > 0 && !written.includes(part.slice(part.length - kept))) kept = Math.floor(kept / 2);
  return part.slice(0, Math.min(60, part.length - kept));
}

function lost(name: string, what: string): CoaError {
  return new CoaError(
    "format",
    `${name} ${what}: a model trained through it would learn something else. Take the format of token ids (trl), or a profile whose tags the template leaves alone (another name for think)`,
    { code: "lossy-template" },
  );
}
