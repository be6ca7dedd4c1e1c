/**
 * Tool calls that a model wrote as text, because its server or its size does not do better: Hermes tags, Qwen's function
 * tags, JSON alone or in a fence, a Python call, and a program in a fence where a tool runs programs. Only calls of
 * tools that were offered count, so that JSON and programs in an answer stay what they are.
 */
import { fencedBlocks, withoutLastLineBreaks } from "../base/text/fences.ts";
import { parseRelaxedJson, pythonLiteral } from "../base/text/relaxed-json.ts";
import type { ToolCall } from "../core/message.ts";
import type { ChatTool } from "../core/model.ts";

type WrittenCall = Omit<ToolCall, "id">;

/**
 * The calls in a text, in order, and what was said before the first; no calls where it holds none. With `programs`, a
 * program in a fence is a call of the tool that runs programs: for members who were told so, because others report programs.
 */
export function writtenCalls(
  text: string,
  tools: readonly ChatTool[],
  { programs = false } = {},
): { said: string; calls: WrittenCall[] } {
  for (const [begin, read] of programs ? [...forms, programForm] : forms) {
    const start = text.search(begin);
    if (start < 0) continue;
    const calls = read(text.slice(start), tools);
    if (calls.length > 0) return { said: text.slice(0, start).trim(), calls };
  }
  return { said: text, calls: [] };
}

type Form = readonly [begin: RegExp, read: (text: string, tools: readonly ChatTool[]) => WrittenCall[]];

const forms: readonly Form[] = [
  [/<tool_call>|<function=/, inTags],
  [/```/, inFences],
  [
    /^\s*[[{]/m,
    (text, tools) => jsonCalls(text.slice(0, Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1), tools),
  ],
  [/^\s*\w+\(/m, pythonCalls],
];

const programForm: Form = [/```/, programCall];

/** `<tool_call>{…}</tool_call>`, or `<function=name><parameter=x>…</parameter></function>` with or without it. */
function inTags(text: string, tools: readonly ChatTool[]): WrittenCall[] {
  const calls = [...text.matchAll(/<tool_call>([\s\S]*?)(?:<\/tool_call>|$)/g)].flatMap(([, inside]) =>
    jsonCalls(inside!, tools),
  );
  for (const [, name, inside] of text.matchAll(/<function=([\w.-]+)>([\s\S]*?)(?:<\/function>|$)/g)) {
    const fields = [...inside!.matchAll(/<parameter=([\w.-]+)>\n?([\s\S]*?)\n?<\/parameter>/g)];
    calls.push(...callOf(tools, name, Object.fromEntries(fields.map(([, key, value]) => [key, value]))));
  }
  return calls;
}

function inFences(text: string, tools: readonly ChatTool[]): WrittenCall[] {
  return fencedBlocks(text, { ownLines: true }).flatMap(({ inside }) => {
    const calls = jsonCalls(inside, tools);
    return calls.length > 0 ? calls : pythonCalls(inside, tools);
  });
}

/** A program in a fence, where a tool runs programs; several are one. */
function programCall(text: string, tools: readonly ChatTool[]): WrittenCall[] {
  const runner = tools.find(({ parameters }) => parameters.properties?.["code"]);
  const python = /^(?:python3?|py|tool_code)$/i;
  const blocks = fencedBlocks(text, { ownLines: true }).filter(({ language }) => python.test(language));
  const code = withoutLastLineBreaks(blocks.map(({ inside }) => inside).join("\n\n"));
  return runner && code !== "" ? callOf(tools, runner.name, { code }) : [];
}

/** One call as JSON, or a list of such: `{"name": …, "arguments": {…}}` and its usual spellings. */
function jsonCalls(text: string, tools: readonly ChatTool[]): WrittenCall[] {
  let value: unknown;
  try {
    value = parseRelaxedJson(text.trim());
  } catch {
    return [];
  }
  return [value].flat().flatMap((one) => {
    const call = (one ?? {}) as Record<string, unknown>;
    const { name, arguments: input } = (typeof call["function"] === "object" ? call["function"] : call) as typeof call;
    return callOf(tools, name ?? call["tool"] ?? call["function"], input ?? call["parameters"] ?? call["input"]);
  });
}

/** `name(field="…", 3)` at the start of a line; bare values are the fields in their order. */
function pythonCalls(text: string, tools: readonly ChatTool[]): WrittenCall[] {
  const calls: WrittenCall[] = [];
  for (const { name, parameters } of tools) {
    const start = text.indexOf(`${name}(`);
    if (start < 0 || !/(?:^|[\s(=])$/.test(text.slice(0, start))) continue;
    const fields = Object.keys(parameters.properties ?? {});
    const inside = text.slice(start + name.length + 1);
    // As an object it can be read by the same rules: `field="…"` is a pair, a bare first value gets its name.
    const pairs = inside
      .slice(0, closing(inside))
      .replace(pythonToken, (token, long, key) => (long ? JSON.stringify(long) : key ? `${key}:` : token));
    const named = /^\s*["']/.test(pairs) ? `${fields[0] ?? "input"}: ${pairs}` : pairs;
    try {
      // One object is all fields: so a history shows the calls that were made.
      calls.push(...callOf(tools, name, pythonLiteral(/^\s*\{/.test(named) ? named : `{${named}}`)));
    } catch {
      // Not a call that can be read: what was written stays text.
    }
  }
  return calls;
}

/** A long string, a string, or the name of a field. */
const pythonToken = /"""([\s\S]*?)"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(\w+)\s*=(?!=)/g;

/** Where the bracket that is open at the start closes; strings are passed over. */
function closing(text: string): number {
  let depth = 1;
  for (const { 0: token, index } of text.matchAll(/"""[\s\S]*?"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[()]/g)) {
    if (token === "(") depth++;
    else if (token === ")" && --depth === 0) return index;
  }
  return text.length;
}

function callOf(tools: readonly ChatTool[], name: unknown, input: unknown): WrittenCall[] {
  const tool = tools.find((one) => one.name === name);
  if (!tool || input === undefined) return [];
  return [{ name: tool.name, arguments: typeof input === "string" ? input : JSON.stringify(input) }];
}
