/**
 * From what the model wrote between a tool's tags to inputs of that tool. The paper's models fail most often here:
 * a missing fence, another fence, single quotes, a trailing comma. All of that is read. What cannot be understood
 * becomes a message that says how the tool is called, because a format error must never end a run.
 */
import { messageOf } from "../core/errors.ts";
import { type JsonSchema, type StandardSchema, type Tool, toolJsonSchema } from "../core/tool.ts";
import type { TagSpec } from "./profile.ts";
import { parseRelaxedJson } from "./relaxed-json.ts";
import { bodyHint } from "./system-prompt.ts";

/** One body may hold several calls (URLs joined with `|`, a JSON list). */
export type ToolInputs = { ok: true; inputs: unknown[] } | { ok: false; message: string };

const schemas = new WeakMap<Tool, JsonSchema>();

function schemaOf(tool: Tool): JsonSchema {
  let schema = schemas.get(tool);
  if (!schema) {
    schema = toolJsonSchema(tool);
    schemas.set(tool, schema);
  }
  return schema;
}

/** Reads a tool body leniently. */
export async function readToolInputs(spec: TagSpec, tool: Tool, body: string): Promise<ToolInputs> {
  if (body.trim() === "") return { ok: false, message: howToCall(spec, tool, "the call is empty") };
  let problem = "";
  for (const candidates of guesses(spec, schemaOf(tool), body)) {
    const inputs: unknown[] = [];
    for (const candidate of candidates) {
      const result = validate(tool, candidate);
      const checked = result instanceof Promise ? await result : result;
      if ("value" in checked) inputs.push(checked.value);
      else problem ||= checked.problem;
    }
    if (inputs.length === candidates.length && inputs.length > 0) return { ok: true, inputs };
  }
  return { ok: false, message: howToCall(spec, tool, problem || "the call could not be read") };
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
  if (spec.body.kind === "urls" || wantsUrls(schema)) {
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

function wantsUrls(schema: JsonSchema): boolean {
  return Object.keys(schema.properties ?? {}).some((name) => /^urls?$/i.test(name));
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
  for (const text of [stripFence(body), /[{[][\s\S]*[}\]]/.exec(body)?.[0] ?? ""]) {
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
export function stripFence(body: string): string {
  const text = body.trim();
  const fenced = /^(`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*\n?([\s\S]*?)\n?\1?$/.exec(text);
  return fenced && text.startsWith(fenced[1]!) ? fenced[2]!.trim() : text.replace(/^`([^`]*)`$/, "$1");
}

/** Every URL of a body: joined with `|`, commas or line breaks, in markdown links or bare. */
export function readUrls(body: string): string[] {
  const found: string[] = [];
  for (const part of stripFence(body).split(/\s*[|\n]\s*|,\s+/)) {
    const link = /https?:\/\/[^\s|"'<>`\]]+/.exec(part)?.[0];
    const bare = /^[\w-]+(?:\.[\w-]+)+(?:[/?#:]\S*)?$/.exec(part.trim())?.[0];
    const url = link ? balance(link) : bare && `https://${bare}`;
    if (url && !found.includes(url)) found.push(url);
  }
  return found;
}

/** Drops sentence punctuation and a markdown link's closing bracket, keeping brackets that belong to the address. */
function balance(url: string): string {
  let text = url.replace(/[.,;:!?]+$/, "");
  while (text.endsWith(")") && text.split("(").length < text.split(")").length) text = text.slice(0, -1);
  return text;
}

/** A program and its standard input: fences of any language, or bare code. */
function codeInput(schema: JsonSchema, body: string): unknown {
  const json = readJson(body);
  const codeProperty = schema.properties?.code ? "code" : (propertyOf(schema, "string") ?? "code");
  if (json !== null && typeof json === "object" && typeof (json as Record<string, unknown>)[codeProperty] === "string")
    return json;
  const fences = [...body.matchAll(/```[ \t]*([\w+-]*)[^\n]*\n([\s\S]*?)(?:\n?```|$)/g)];
  const isInput = (language: string) => /^(?:sh|bash|stdin|input|text|txt)$/i.test(language);
  const programs = fences.filter((fence) => !isInput(fence[1] ?? "")).map((fence) => fence[2] ?? "");
  const stdin = fences.find((fence) => isInput(fence[1] ?? ""))?.[2];
  const code =
    programs.length > 0
      ? programs.join("\n\n")
      : fences.length > 0 && stdin !== undefined
        ? body.split("```")[0]!.trim()
        : stripFence(body);
  return stdin === undefined ? { [codeProperty]: code } : { [codeProperty]: code, stdin };
}

type Checked = { value: unknown } | { problem: string };

/** Most schemas answer at once; only one that must wait makes us wait. */
function validate(tool: Tool, input: unknown): Checked | Promise<Checked> {
  const standard = (tool.inputSchema as StandardSchema)["~standard"];
  if (!standard) return jsonSchemaProblem(tool.inputSchema as JsonSchema, input);
  try {
    const result = standard.validate(input);
    return result instanceof Promise
      ? result.then(readResult, (error) => ({ problem: messageOf(error) }))
      : readResult(result);
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function readResult(
  result:
    | { value: unknown; issues?: undefined }
    | { issues: readonly { message: string; path?: readonly unknown[] }[] },
): Checked {
  if (result.issues === undefined) return { value: result.value };
  const issue = result.issues[0];
  const place = issue?.path?.length ? `${issue.path.map(String).join(".")}: ` : "";
  return { problem: `${place}${issue?.message ?? "invalid input"}` };
}

/** The checks of plain JSON Schema that matter for a call: object, required fields, types of the named ones. */
function jsonSchemaProblem(schema: JsonSchema, input: unknown): Checked {
  if (schema.type !== undefined && schema.type !== "object")
    return typeMatches(schema.type, input) ? { value: input } : { problem: `expected ${schema.type}` };
  if (typeof input !== "object" || input === null || Array.isArray(input)) return { problem: "expected an object" };
  const fields = input as Record<string, unknown>;
  for (const name of schema.required ?? []) if (fields[name] === undefined) return { problem: `${name} is missing` };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (fields[name] !== undefined && property.type && !typeMatches(property.type, fields[name]))
      return { problem: `${name}: expected ${property.type}` };
  }
  return { value: input };
}

function typeMatches(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  return type === "object"
    ? typeof value === "object" && value !== null && !Array.isArray(value)
    : typeof value === type;
}

function howToCall(spec: TagSpec, tool: Tool, problem: string): string {
  const fields = Object.entries(schemaOf(tool).properties ?? {}).map(
    ([name, property]) => `${name}${property.type ? ` (${property.type})` : ""}`,
  );
  const hint = bodyHint(spec.body).trim() || (fields.length > 1 ? "Body: a JSON object." : "Body: plain text.");
  return `${tool.name} could not read this call: ${problem}. ${hint} ${fields.length > 0 ? `Fields: ${fields.join(", ")}. ` : ""}Call it again between the tags ${spec.name}.`;
}
