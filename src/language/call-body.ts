/**
 * The text between a tool's tags: `writeCallBody` writes a recorded call, `readCallBody` reads what a model wrote. They
 * are inverses: a written body reads back as the same input. Writing prefers the plain form (a query, an address, a
 * program) and takes the recorded JSON where the plain form would be read differently. Reading is lenient, because the
 * paper's models fail most often here: a missing fence, another fence, single quotes, a trailing comma. What can't be
 * understood becomes a message that says how the tool is called, because a format error must never end a run.
 */
import { isDeepStrictEqual } from "node:util";
import { addressAlone } from "../base/text/address-alone.ts";
import { type FencedBlock, fencedBlocks, withoutLastLineBreaks } from "../base/text/fences.ts";
import { parseRelaxedJson } from "../base/text/relaxed-json.ts";
import { canonicalJson, parseJson } from "../core/json-value.ts";
import type { TagSpec } from "../core/profile.ts";
import { type JsonSchema, type Tool, toolJsonSchema } from "../core/tool.ts";
import { checkInput } from "./check-input.ts";
import { bodyHint } from "./system-prompt.ts";

/** The arguments of a recorded call as a value: JSON where it is JSON, the text itself otherwise. */
export function callArguments(text: string): unknown {
  const value = text.trim() === "" ? {} : parseJson(text);
  return value === undefined ? text : value;
}

/** The body for these arguments (JSON as recorded). `schema` is the tool's, where it is known. */
export function writeCallBody(tag: TagSpec, text: string, schema?: JsonSchema): string {
  const input = callArguments(text);
  const json = text.trim();
  if (tag.body.kind === "json")
    return `\`\`\`json\n${typeof input === "string" ? JSON.stringify({ input }) : json}\n\`\`\``;
  const plain = plainBody(tag, input);
  if (plain === undefined) return json;
  return plain.lossy || readsAs(tag, schema ?? schemaOfInput(input), plain.body, input) ? plain.body : json;
}

/** The plain form of an input, where it has one; `lossy` where it leaves out what such a body has no place for. */
function plainBody(tag: TagSpec, input: unknown): { body: string; lossy?: boolean } | undefined {
  const value = onlyValue(input);
  switch (tag.body.kind) {
    case "urls": {
      const found = value ?? addressIn(input);
      // An address twice in one call is read once.
      const urls = [...new Set(Array.isArray(found) ? found : [found])];
      const body = urls.join("|");
      // What else a foreign reader was told (a query, a depth) has no place in such a body.
      return isDeepStrictEqual(readUrls(body), urls) ? { body, lossy: true } : undefined;
    }
    case "code": {
      const { code, stdin } = programOf(input);
      if (code === undefined) return undefined;
      if (tag.body.fence === null) return { body: code.trim() };
      const program = `\`\`\`${tag.body.fence}\n${withoutLastLineBreaks(code)}\n\`\`\``;
      return { body: stdin === undefined || !tag.body.stdin ? program : `${program}\n\`\`\`sh\n${stdin}\n\`\`\`` };
    }
    default:
      return typeof value === "string" && value !== "" && value === value.trim() ? { body: value } : undefined;
  }
}

/** Whether a body, read by the rules of reading, means this input. */
function readsAs(tag: TagSpec, schema: JsonSchema, body: string, input: unknown): boolean {
  const wanted = typeof input === "string" ? { [propertyOf(schema, "string") ?? "input"]: input } : input;
  const tool = { inputSchema: schema } as Tool;
  for (const candidates of guesses(tag, schema, body)) {
    if (!candidates.every((candidate) => "value" in (checkInput(tool, candidate) as object))) continue;
    return candidates.length === 1 && isDeepStrictEqual(trimmed(candidates[0]), trimmed(wanted));
  }
  return false;
}

/** White space at the end of a program means nothing. */
function trimmed(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, typeof value === "string" ? value.trimEnd() : value]),
  );
}

/** The least a tool must take that was called with this input. */
function schemaOfInput(input: unknown): JsonSchema {
  const fields = typeof input === "string" ? { input } : ((input ?? {}) as Record<string, unknown>);
  const typeOf = (value: unknown) => (Array.isArray(value) ? "array" : typeof value);
  const properties = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { type: typeOf(value) }]));
  return { type: "object", properties, required: Object.keys(fields) };
}

/** The value of an object with one field, a bare string, or undefined where one value is not all there is. */
function onlyValue(input: unknown): unknown {
  if (typeof input === "string") return input;
  if (input === null || typeof input !== "object" || Array.isArray(input)) return undefined;
  const values = Object.values(input);
  return values.length === 1 ? values[0] : undefined;
}

function addressIn(input: unknown): unknown {
  const entries = Object.entries((input ?? {}) as object);
  return entries.find(([name]) => /^(?:urls?|links?|href|address(?:es)?|pages?)$/i.test(name))?.[1];
}

function programOf(input: unknown): { code?: string; stdin?: string } {
  if (typeof input === "string") return { code: input };
  const object = (input ?? {}) as Record<string, unknown>;
  const code = object["code"] ?? object["program"] ?? object["source"] ?? onlyValue(input);
  const stdin = object["stdin"] ?? object["input"];
  return {
    ...(typeof code === "string" && { code }),
    ...(typeof stdin === "string" && stdin !== code && { stdin }),
  };
}

/** One body may hold several calls (URLs joined with `|`, a JSON list). */
export type ReadCalls = { ok: true; inputs: unknown[] } | { ok: false; message: string };

const schemas = new WeakMap<Tool, JsonSchema>();

function schemaOf(tool: Tool): JsonSchema {
  let schema = schemas.get(tool);
  if (!schema) schemas.set(tool, (schema = toolJsonSchema(tool)));
  return schema;
}

/** Reads a body leniently: the inputs it means, or how the tool is called. */
export async function readCallBody(tag: TagSpec, tool: Tool, body: string): Promise<ReadCalls> {
  if (body.trim() === "") {
    const nothing = await checkInput(tool, {});
    if ("value" in nothing) return { ok: true, inputs: [nothing.value] };
    return { ok: false, message: howToCall(tag, tool, "the call is empty") };
  }
  let problem = "";
  for (const candidates of guesses(tag, schemaOf(tool), body)) {
    const inputs: unknown[] = [];
    for (const candidate of candidates) {
      const result = checkInput(tool, candidate);
      const checked = result instanceof Promise ? await result : result;
      if ("value" in checked) inputs.push(checked.value);
      else problem ||= checked.problem;
    }
    if (inputs.length === candidates.length && inputs.length > 0) return { ok: true, inputs };
  }
  return { ok: false, message: howToCall(tag, tool, problem || "the call could not be read") };
}

/** Readings of a body, the likeliest first; each is the list of inputs it would mean. */
function* guesses(spec: TagSpec, schema: JsonSchema, body: string): Generator<unknown[]> {
  const json = readJson(body);
  const looksLikeJson = typeof json === "object" && json !== null;
  if (spec.body.kind === "code") yield [codeInput(schema, body)];
  if (looksLikeJson) {
    const inputs = Array.isArray(json) && !json.every(isPlain) ? json : [adapt(schema, json)];
    yield inputs;
    yield inputs.map(withoutNulls); // "nothing" is often written as null where the field may only be left out
  }
  const urls = Object.keys(schema.properties ?? {}).some((name) => /^urls?$/i.test(name));
  if (spec.body.kind === "urls" || urls) {
    const urls = readUrls(body);
    const list = propertyOf(schema, "array");
    const single = propertyOf(schema, "string");
    if (urls.length > 0 && list) yield [{ [list]: urls }];
    if (urls.length > 0 && single) yield urls.map((url) => ({ [single]: url }));
  }
  const plain = stripFence(body);
  const text = propertyOf(schema, "string");
  const list = propertyOf(schema, "array");
  if (text) yield [{ [text]: plain }];
  if (list) yield [{ [list]: Array.isArray(json) ? json : [plain] }];
  if (schema.type === "string" || !schema.properties) yield [plain];
  const number = propertyOf(schema, "number") ?? propertyOf(schema, "integer");
  if (number && !Number.isNaN(Number(plain))) yield [{ [number]: Number(plain) }];
}

const isPlain = (value: unknown) => typeof value !== "object" || value === null;

function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

/** A list of plain values is meant for the tool's list, where it has one. */
function adapt(schema: JsonSchema, json: unknown): unknown {
  const list = propertyOf(schema, "array");
  return Array.isArray(json) && list ? { [list]: json } : json;
}

/** The property a bare body is meant for: the first required one of that type, else the first of that type. */
function propertyOf(schema: JsonSchema, type: string): string | undefined {
  const fits = Object.entries(schema.properties ?? {}).filter(
    ([, property]) =>
      property.type === type || (type === "string" && property.type === undefined && property.anyOf === undefined),
  );
  const required = fits.find(([name]) => schema.required?.includes(name));
  return (required ?? fits[0])?.[0];
}

/** The object or list that a body holds, alone or among other words. */
function readJson(body: string): unknown {
  if (!/[{[]/.test(body)) return undefined;
  const inside = body.slice(body.search(/[{[]/), Math.max(body.lastIndexOf("}"), body.lastIndexOf("]")) + 1);
  for (const text of [stripFence(body), inside]) {
    if (text === "") continue;
    try {
      return parseRelaxedJson(text);
    } catch {
      // Not JSON; the body is read as something else.
    }
  }
  return undefined;
}

/** The inside of one fence around the whole body, whatever its language; the body itself where there is none. */
function stripFence(body: string): string {
  const text = body.trim();
  const fenced = /^(`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*\n?([\s\S]*?)\n?\1?$/.exec(text);
  return fenced && text.startsWith(fenced[1]!) ? fenced[2]!.trim() : text.replace(/^`([^`]*)`$/, "$1");
}

/** Every URL of a body: joined with `|`, commas or line breaks, in markdown links or bare. */
function readUrls(body: string): string[] {
  const found = new Set<string>();
  for (const part of stripFence(body).split(/[|\n]|,\s/)) {
    const link = /(?:https?|coa):\/\/[^\s|"'<>`\]]+/.exec(part)?.[0];
    const bare = /^[\w-]+(?:\.[\w-]+)+(?:[/?#:]\S*)?$/.exec(part.trim())?.[0];
    const url = link ? addressAlone(link) : bare && `https://${bare}`;
    if (url) found.add(url);
  }
  return [...found];
}

/** A program and its standard input: fences of any language, or bare code. */
function codeInput(schema: JsonSchema, body: string): unknown {
  const json = readJson(body);
  const codeProperty = schema.properties?.code ? "code" : (propertyOf(schema, "string") ?? "code");
  if (json !== null && typeof json === "object" && typeof (json as Record<string, unknown>)[codeProperty] === "string")
    return json;
  const fences = fencedBlocks(body);
  const isInput = ({ language }: FencedBlock) => /^(?:sh|bash|stdin|input|text|txt)$/i.test(language);
  const programs = fences.filter((fence) => !isInput(fence)).map((fence) => fence.inside);
  const stdin = fences.find(isInput)?.inside;
  const code =
    programs.length > 0
      ? programs.join("\n\n")
      : fences.length > 0 && stdin !== undefined
        ? body.split("```")[0]!.trim()
        : stripFence(body);
  return stdin === undefined ? { [codeProperty]: code } : { [codeProperty]: code, stdin };
}

function howToCall(spec: TagSpec, tool: Tool, problem: string): string {
  const fields = Object.entries(schemaOf(tool).properties ?? {}).map(
    ([name, property]) => `${name}${property.type ? ` (${property.type})` : ""}`,
  );
  const hint = bodyHint(spec.body).trim() || (fields.length > 1 ? "Body: a JSON object." : "Body: plain text.");
  return `${tool.name} could not read this call: ${problem}. ${hint} ${fields.length > 0 ? `Fields: ${fields.join(", ")}. ` : ""}Repeat the call inside <${spec.name}> tags.`;
}

/** Equal for calls that ask the same. */
export function callKey(tool: string, input: unknown): string {
  return `${tool} ${canonicalJson(input, (text) => text.trim()) ?? "null"}`;
}
