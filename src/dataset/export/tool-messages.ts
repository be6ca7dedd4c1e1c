/**
 * A chain as OpenAI's messages with tool calls: what the model wrote beside its calls is the text of its turn, each call is
 * a call with its arguments, each result a message of its own, and the tools stand beside them. The rules of our tags are
 * left out, since a model with calls of its own needs none; so is what the distiller wrote to satisfy them.
 */
import { asObject } from "../../core/json-value.ts";
import type { Segment, Trajectory } from "../../core/trajectory.ts";
import { systemPrompt } from "../../language/system-prompt.ts";
import type { TemplateMessage } from "../../tokenizers/conversation-template.ts";
import { conversationTurns, promptTexts } from "./chain-turns.ts";
import type { Row } from "./formats.ts";

export interface ToolsRow {
  messages: TemplateMessage[];
  tools: { type: "function"; function: { name: string; description?: string; parameters: object } }[];
}

export function openAiToolsRow(trajectory: Trajectory): Row<ToolsRow> {
  const found = conversationTurns(trajectory);
  if ("skipped" in found) return found;
  const { system, user } = promptTexts(trajectory.prompt);
  const { language } = trajectory;
  const rules = language ? systemPrompt(language.profile, language.tools) : "";
  const told = (rules === "" ? system : system.replace(rules, "")).trim();
  const messages: TemplateMessage[] = told === "" ? [] : [{ role: "system", content: told }];
  messages.push({ role: "user", content: user });
  let number = 0;
  for (const [index, turn] of found.turns.entries()) {
    const own = turn.segments.map((at) => trajectory.segments[at]!);
    if (turn.author === "tool") continue;
    const results = (found.turns[index + 1]?.segments ?? []).map((at) => trajectory.segments[at]!);
    const called = results.filter(({ call }) => call !== undefined);
    const calls = called.map(({ call }) => ({
      id: `call_${++number}`,
      type: "function" as const,
      function: { name: call!.tool, arguments: JSON.stringify(asObject(call!.input) ?? { input: call!.input ?? "" }) },
    }));
    const isCall = callSegments(own, called.length);
    const content = own
      .filter((segment) => !isCall.has(segment) && !segment.filled)
      .map(({ text }) => text.trim())
      .filter((text) => text !== "")
      .join("\n\n");
    messages.push({ role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) });
    called.forEach(({ text }, at) => {
      messages.push({ role: "tool", tool_call_id: calls[at]!.id, content: text });
    });
    // What reached the chain without a call: a request of the runtime, a message in mid-run.
    const others = results.filter(({ call }) => call === undefined).map(({ text }) => text.trim());
    if (others.length > 0) messages.push({ role: "user", content: others.join("\n\n") });
  }
  return { row: { messages, tools: toolsOf(trajectory) } };
}

/** The segments that are the calls of a turn: its last ones that are not thoughts, one for each result. */
function callSegments(own: readonly Segment[], count: number): Set<Segment> {
  return new Set(count === 0 ? [] : own.filter(({ tag }) => tag !== "think").slice(-count));
}

/** The tools as they were described; where they were not, as they were called. */
function toolsOf({ language, segments }: Trajectory): ToolsRow["tools"] {
  const described = (language?.tools ?? []).map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema })); // biome-ignore format: one line
  const known = new Set(described.map(({ name }) => name));
  const seen = new Map<string, Record<string, object>>();
  for (const { call } of segments) {
    if (!call || known.has(call.tool)) continue;
    const properties = seen.get(call.tool) ?? {};
    for (const [key, value] of Object.entries(asObject(call.input) ?? { input: "" }))
      properties[key] = { type: jsonType(value) };
    seen.set(call.tool, properties);
  }
  const called = [...seen].map(([name, properties]) => ({ name, parameters: { type: "object", properties } }));
  return [...described, ...called].map((tool) => ({ type: "function", function: tool }));
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null || typeof value === "object" ? "object" : typeof value;
}
