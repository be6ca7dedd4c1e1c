/**
 * Agents that call tools by their words: what each protocol's call, result and answer look like. A text is read as a call
 * only where the next message is a result of the same protocol, so that code or quotations in a chat stay what they are.
 */
import type { Message, ToolCall } from "../../core/message.ts";

/** What a text says, apart from the call or the answer that it holds. */
export interface TextMove {
  said: string;
  call?: Omit<ToolCall, "id">;
  answer?: string;
}

interface TextProtocol {
  move(text: string): TextMove | undefined;
  /** What stands before the result in the message after a call. */
  result: RegExp;
}

const readers: readonly TextProtocol[] = [
  // ReAct as published: `Action: search[…]`, `Action: finish[…]`; as LangChain and CrewAI write it: `Action Input: …`.
  {
    move(text) {
      const action =
        /^[ \t]*Action(?: \d+)?:[ \t]*([\w-]+(?: [\w-]+)*)[ \t]*(?:\[([^\n]*)\]|\n\s*Action Input(?: \d+)?:\s*([\s\S]*))/m;
      const found = action.exec(text) ?? /^[ \t]*Final (Answer):()([\s\S]+)$/m.exec(text);
      if (!found) return undefined;
      const [, name = "", inBrackets = "", input = ""] = found;
      const said = text
        .slice(0, found.index)
        .replace(/^\s*Thought(?: \d+)?:/, "")
        .trim();
      if (/^(?:finish|answer)$/i.test(name)) return { said, answer: (inBrackets || input).trim() };
      return { said, call: { name, arguments: input.trim() || JSON.stringify({ query: inBrackets }) } };
    },
    result: /^\s*Observation(?: \d+)?:\s*/,
  },
  // Code in fences, as AutoGen and AG2 run it.
  { move: codeMove, result: /^\s*exitcode: \d+ \([^)]*\)\s*(?:Code output:)?\s*/ },
];

/** The code of a text's fences as one call. */
export function codeMove(text: string): TextMove | undefined {
  const fence = /^[ \t]*```(?:python|py)?[ \t]*\n([\s\S]*?)^[ \t]*```[ \t]*$/gim;
  const code = [...text.matchAll(fence)].map(([, body]) => body!.trimEnd()).join("\n\n");
  if (code.trim() === "") return undefined;
  const said = text
    .replace(fence, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return { said, call: { name: "python_interpreter", arguments: code } };
}

/** What a message says in a text protocol; `result` is what came back for its call. */
export function readTextMove(text: string, next: string | undefined): (TextMove & { result?: string }) | undefined {
  for (const { move, result } of readers) {
    const found = move(text);
    if (found?.answer !== undefined) return found;
    if (found && next !== undefined && result.test(next))
      return { ...found, result: next.replace(result, "").trimEnd() };
  }
  return undefined;
}

/** A conversation with its text calls as tool calls, their results as messages of tools, and its answer alone at the end. */
export function readTextProtocol(messages: readonly Message[]): Message[] {
  const read: Message[] = [];
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    const next = messages[at + 1];
    const plain = message.role === "assistant" && !message.toolCalls;
    const move = plain ? readTextMove(message.content, next?.role === "user" ? next.content : undefined) : undefined;
    if (move?.answer !== undefined) {
      read.push({ ...message, content: move.answer, ...(move.said && { reasoning: move.said }) });
    } else if (move?.call) {
      const id = `text-${at + 1}`;
      read.push({ ...message, content: move.said, toolCalls: [{ id, ...move.call }] });
      read.push({ role: "tool", content: move.result ?? "", toolCallId: id });
      at++;
    } else read.push(message);
  }
  return read;
}
