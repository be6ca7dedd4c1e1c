/**
 * Agents that call tools by their words: what each protocol's call, result and answer look like, in files and on the wire
 * alike. A text is read as a call where the next message is a result of the same protocol, and the reply of a recorded call
 * where its prompt teaches the protocol, so that code or quotations in a chat stay what they are.
 */
import { fillCallIds, fillReplyIds } from "../../base/wire/call-ids.ts";
import { asObject, asString, asText, parseJson } from "../../core/json-value.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import { teamRequests, toldTools } from "../../language/team-moves.ts";
import { writtenCalls } from "../../language/written-calls.ts";
import type { RecordedCall } from "../recorded-call.ts";

/** What a text says, apart from the calls or the answer that it holds. */
export interface TextMove {
  said: string;
  calls?: ToolCall[];
  answer?: string;
  /** What came back, where the program wrote it into the same message. */
  result?: string;
}

interface TextProtocol {
  /** What the prompt of an agent says that is to write so. */
  told: Pick<RegExp, "test">;
  move(text: string, prompt: string): TextMove | undefined;
  /** What stands before the results in the message after a call. */
  result: RegExp;
  /** The results of a message, for protocols that write several. */
  results?: RegExp;
  /** What stands after the results: the program's next request, a message of its own. */
  request?: string;
  /** A prompt as the conversation that it tells of. */
  unroll?(message: Message): Message[] | undefined;
}

const readers: readonly TextProtocol[] = [
  // ReAct as published: `Action: search[…]`, `Action: finish[…]`; as LangChain and CrewAI write it: `Action Input: …`.
  {
    told: /\bAction Input:|\bFinal Answer:|\bfinish\[|"action_input"/i,
    move(text) {
      // Agents of structured chats write both as JSON.
      const blob = /(?:^|Action:)\s*```(?:json)?\s*(\{[\s\S]*?\})\s*```/.exec(text);
      const { action: tool, action_input: given } = asObject(parseJson(blob?.[1] ?? "")) ?? {};
      if (typeof tool === "string") {
        const thought = withoutThought(text.slice(0, blob!.index));
        if (/^final answer$/i.test(tool)) return { said: thought, answer: asText(given) };
        const input = typeof given === "string" ? JSON.stringify({ input: given }) : asText(given);
        return { said: thought, calls: [{ id: "", name: tool, arguments: input }] };
      }
      const action =
        /^[ \t]*Action(?: \d+)?:[ \t]*([\w-]+(?: [\w-]+)*)[ \t]*(?:\[([^\n]*)\]|\n\s*Action Input(?: \d+)?:\s*([\s\S]*))/m;
      const found = action.exec(text) ?? /^[ \t]*Final (Answer):()([\s\S]+)$/m.exec(text);
      if (!found) return undefined;
      const [, name = "", inBrackets = "", rest = ""] = found;
      const said = withoutThought(text.slice(0, found.index));
      if (/^(?:finish|answer)$/i.test(name)) return { said, answer: (inBrackets || rest).trim() };
      const [input = "", result] = rest.split(/\n\s*Observation:\s*/, 2);
      const call = { id: "", name, arguments: input.trim() || JSON.stringify({ query: inBrackets }) };
      return { said, calls: [call], ...(result !== undefined && { result: result.trimEnd() }) };
    },
    result: /^\s*Observation(?: \d+)?:\s*/,
  },
  // smolagents: code between tags or in fences; what was called stands in the history once more, as Python prints it.
  {
    told: /\bfinal_answer\b/,
    move(text) {
      const [own = "", called] = text.split(/\n*Calling tools:\n/, 2);
      const found = /(?:<code>|```(?:python|py)?\n)\s*([\s\S]*?)\s*(?:<\/code>|```|$)/.exec(own);
      const said = withoutThought(found ? own.slice(0, found.index) : own);
      if (found) {
        const given = /^final_answer\((?:answer\s*=\s*)?((["'])(?:\\.|(?!\2).)*\2|-?[\d.]+)\)$/.exec(found[1]!);
        if (given) return { said, answer: asText(readPython(given[1]!)) };
        return { said, calls: [{ id: "", name: "python_interpreter", arguments: found[1]! }] };
      }
      const list = called === undefined ? undefined : readPython(called);
      if (!Array.isArray(list)) return undefined;
      return { said: own.trim(), calls: list.map(readCall) };
    },
    result: /^\s*(?:Observation:|Call id: \S+\s+(?=Error:))\s*/,
  },
  // Hermes and others: JSON or parameters in XML.
  {
    told: /<tool_call>|<function_calls>|<invoke name=/,
    move(text) {
      const blocks = /<tool_call>\s*([\s\S]*?)\s*<\/tool_call>|<invoke name="([^"]+)">([\s\S]*?)<\/invoke>/g;
      const calls = [...text.matchAll(blocks)].map(([, json = "", name, inner = ""]) => {
        const given = [...inner.matchAll(/<parameter name="([^"]+)">([\s\S]*?)<\/parameter>/g)];
        const values = Object.fromEntries(given.map(([, key, value]) => [key, value]));
        return readCall(name === undefined ? parseJson(json) : { name, arguments: values });
      });
      if (calls.length === 0 || calls.some(({ name }) => name === "")) return undefined;
      return {
        said: text
          .replace(blocks, "")
          .replace(/<\/?function_calls>|<\/?think>/g, "")
          .trim(),
        calls,
      };
    },
    result: /^\s*<(?:tool_response|function_results?)>\s*/,
    results: /<(tool_response|function_results?)>\s*([\s\S]*?)\s*<\/\1>/g,
  },
  // DSPy: fields under headings; an agent's steps so far are fields of its only prompt.
  {
    told: /\[\[ ## completed ## \]\]/,
    move(text) {
      const { reasoning, next_thought, next_tool_name: name, next_tool_args, completed: _end, ...out } = fieldsOf(text);
      if (name !== undefined)
        return { said: next_thought ?? "", calls: [{ id: "", name, arguments: next_tool_args ?? "{}" }] };
      const values = Object.values(out);
      return values.length === 1 ? { said: reasoning ?? "", answer: values[0]! } : undefined;
    },
    result: /(?!)/,
    unroll(message) {
      const at = message.content.indexOf("[[ ## trajectory ## ]]");
      if (at < 0 || message.role !== "user") return undefined;
      const steps = fieldsOf(
        message.content.slice(at).replace(/\n\s*Respond with the corresponding output fields[\s\S]*$/, ""),
      );
      const rolled: Message[] = [{ ...message, content: message.content.slice(0, at) }];
      for (let step = 0; steps[`tool_name_${step}`] !== undefined; step++) {
        const call = { id: "", name: steps[`tool_name_${step}`]!, arguments: steps[`tool_args_${step}`] ?? "{}" };
        rolled.push({ role: "assistant", content: steps[`thought_${step}`] ?? "", toolCalls: [call] });
        rolled.push({ role: "tool", content: steps[`observation_${step}`] ?? "" });
      }
      return rolled;
    },
  },
  // Code in fences, as AutoGen and AG2 run it.
  {
    told: /\bcoding block\b|\bexitcode\b/,
    move: codeMove,
    result: /^\s*exitcode: \d+ \([^)]*\)\s*(?:Code output:)?\s*/,
  },
  // Our own small team.
  {
    told: { test: (prompt) => toldTools(prompt).length > 0 },
    move(text, prompt) {
      const { said, calls } = writtenCalls(text, toldTools(prompt), { programs: true });
      return calls.length > 0 ? { said, calls: calls.map((call) => ({ id: "", ...call })) } : undefined;
    },
    result: /^Output:\n/,
    request: teamRequests.afterOutput.text,
  },
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
  return { said, calls: [{ id: "", name: "python_interpreter", arguments: code }] };
}

/** What a message says in a text protocol, where it answers or `next` holds what came back for its calls. */
export function readTextMove(
  text: string,
  next: string | undefined,
  prompt = "",
): (TextMove & { results: string[]; request?: string }) | undefined {
  for (const { move, result, results, request = "" } of readers) {
    const found = move(text, prompt);
    if (found?.answer !== undefined) return { ...found, results: [] };
    if (found?.result !== undefined) return { ...found, results: [found.result] };
    if (!found || next === undefined || !result.test(next)) continue;
    const all = results && [...next.matchAll(results)].map((match) => match[2]!);
    const back = next.replace(result, "").trimEnd();
    if (request === "" || !back.endsWith(request)) return { ...found, results: all ?? [back] };
    return { ...found, results: [back.slice(0, -request.length).trimEnd()], request };
  }
  return undefined;
}

/** A conversation with its text calls as tool calls, their results as messages of tools, and its answer alone at the end. */
export function readTextProtocol(given: readonly Message[]): Message[] {
  const messages = given.flatMap((one) => readers.map(({ unroll }) => unroll?.(one)).find(Boolean) ?? [one]);
  const read: Message[] = [];
  const prompt = promptOf(messages);
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    const next = messages[at + 1];
    const plain = message.role === "assistant" && !message.toolCalls;
    const said = next?.role === "user" || next?.role === "tool" ? next.content : undefined;
    const move = plain ? readTextMove(message.content, said, prompt) : undefined;
    if (move?.answer !== undefined) {
      read.push({ ...message, content: move.answer, ...(move.said && { reasoning: move.said }) });
    } else if (move?.calls) {
      const calls = move.calls.map((call) => ({ ...call }));
      read.push({ ...message, content: move.said, toolCalls: calls });
      // Several results that can't be told apart are one text.
      const results = move.results.length === calls.length ? move.results : [move.results.join("\n")];
      for (const [index, content] of results.entries())
        read.push({ role: "tool", content, toolCallId: calls[index]!.id });
      if (move.request) read.push({ role: "user", content: move.request });
      if (move.result === undefined) at++;
    } else read.push(message);
  }
  fillCallIds(read);
  return read;
}

/** What of a call its words decide. */
type TextFields = "messages" | "text" | "toolCalls" | "reasoning" | "tools";

/** What tells an agent how to write: its instructions and the first message. */
function promptOf(messages: readonly Message[]): string {
  const prompt = messages.filter(({ role }, index) => role === "system" || index === 0);
  return prompt.map(({ content }) => content).join("\n\n");
}

/** A recorded call whose agent was told to call tools by its words, with what it and its history say so as tool calls. */
export function readTextCall<C extends Pick<RecordedCall, TextFields>>(
  call: C,
): Omit<C, TextFields> & Pick<RecordedCall, TextFields> {
  const prompt = promptOf(call.messages);
  const told = readers.filter((reader) => reader.told.test(prompt));
  if (told.length === 0) return call;
  const messages = readTextProtocol(call.messages);
  const tools = call.tools.length > 0 ? call.tools : toldTools(prompt);
  const move = call.toolCalls.length > 0 ? undefined : told.map((one) => one.move(call.text, prompt)).find(Boolean);
  if (!move) return { ...call, messages, tools };
  const reasoning = [call.reasoning, move.answer === undefined ? "" : move.said].filter(Boolean).join("\n");
  return {
    ...call,
    messages,
    tools,
    text: move.answer ?? move.said,
    ...(reasoning && { reasoning }),
    toolCalls: fillReplyIds(messages, move.calls ?? []),
  };
}

function withoutThought(text: string): string {
  return text.replace(/^\s*Thought(?: \d+)?:/, "").trim();
}

/** A call as JSON has it, by itself or inside `function`. */
function readCall(value: unknown): ToolCall {
  const outer = asObject(value) ?? {};
  const { name, arguments: input } = asObject(outer["function"]) ?? outer;
  return { id: asString(outer["id"]) ?? "", name: asString(name) ?? "", arguments: asText(input) };
}

function fieldsOf(text: string): Record<string, string> {
  const parts = text.split(/^\[\[ ## (\w+) ## \]\][ \t]*$/m);
  return Object.fromEntries(parts.flatMap((name, at) => (at % 2 === 1 ? [[name, parts[at + 1]!.trim()]] : [])));
}

/** A value as Python prints it; undefined for anything else. */
function readPython(text: string): unknown {
  const words: Record<string, string> = { True: "true", False: "false", None: "null" };
  const json = text.replace(/'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|\b(?:True|False|None)\b/gs, (all, one, two) => {
    const inner: string | undefined = one ?? two;
    if (inner === undefined) return words[all]!;
    return `"${inner
      .replace(/\\'/g, "'")
      .replace(/\\x(..)/g, "\\u00$1")
      .replace(/\\.|"|\n/gs, (part) => (part === '"' ? '\\"' : part === "\n" ? "\\n" : part))}"`;
  });
  return parseJson(json);
}
