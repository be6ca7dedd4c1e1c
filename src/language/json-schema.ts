/**
 * The part of JSON Schema in which a caller may ask for its answer. What is not in it is refused before anything runs, so
 * that no rule is silently ignored: types, objects with named properties, lists, choices, constants, references (also to
 * itself), limits of numbers, texts and lists, formats of texts, and patterns, which are checked within a time.
 */
import { isIPv4, isIPv6 } from "node:net";
import { fencedBlocks } from "../base/text/fences.ts";
import { inTime } from "../core/in-time.ts";
import type { JsonSchema } from "../core/tool.ts";

/** What is wrong with a schema or a value, and where. */
export class SchemaProblem extends Error {
  override readonly name = "SchemaProblem";
}

const notes = ["title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly"];
const known: Record<string, readonly string[]> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "format", "pattern"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  boolean: [],
  null: [],
};
/** Formats that are checked; others are taken where a pattern says what they mean. */
const formats: Record<string, (text: string) => boolean> = {
  email: (text) => /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/.test(text),
  uuid: (text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  date: (text) => isDate(text),
  "date-time": (text) => isDate(text.slice(0, 10)) && /^T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?$/i.test(text.slice(10)),
  time: (text) => /^\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?$/i.test(text),
  uri: (text) => URL.canParse(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
}; // biome-ignore format: one format to a line
const isDate = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
/** Of the client's patterns, and of choices inside choices, on one answer. */
const checkMs = 1_000;
const deepest = 10;
const mostNodes = 500;

export const anyObject: JsonSchema = { type: "object", additionalProperties: true };

/** The schema with its references put in and one type to a node; throws where it is outside the part that is understood. */
export function plainSchema(schema: unknown): JsonSchema {
  let nodes = 0;
  const root = asSchema(schema, "the schema");
  const recursive = new Set<string>();
  /** `inside` are the references that led here, `bare` those of them that led here without a step into the value. */
  function plain(value: unknown, place: string, depth: number, inside: ReadonlySet<string>, bare = inside): JsonSchema {
    const node = asSchema(value, place);
    if (++nodes > mostNodes) throw new SchemaProblem(`the schema has more than ${mostNodes} parts`);
    if (depth > deepest) throw new SchemaProblem(`${place}: nested deeper than ${deepest}`);
    const within = (child: unknown, name: string, same?: ReadonlySet<string>) =>
      plain(child, `${place}.${name}`, depth + 1, inside, same ?? new Set());
    const { $ref } = node;
    if (typeof $ref === "string") {
      const found = referred(root, $ref, place);
      if (bare.has($ref)) throw new SchemaProblem(`${place}: "${$ref}" leads back to itself`);
      if (!inside.has($ref)) return plain(found, place, depth + 1, inside.union(new Set([$ref])), bare.union(new Set([$ref]))); // biome-ignore format: one step
      recursive.add($ref);
      return { $ref };
    }
    const { $defs: _defs, definitions: _definitions, ...rest } = node;
    const used = Object.keys(rest).filter((key) => !notes.includes(key));
    const only = (...keys: readonly string[]) => {
      const other = used.find((key) => !keys.includes(key));
      if (other !== undefined) throw new SchemaProblem(`${place}: "${other}" is not supported here`);
    };
    if (Array.isArray(node["anyOf"]) || Array.isArray(node["oneOf"])) {
      only("anyOf", "oneOf");
      const options = (Array.isArray(node["anyOf"]) ? node["anyOf"] : node["oneOf"]) as unknown[];
      return { anyOf: options.map((option, index) => within(option, `anyOf[${index}]`, bare)) };
    }
    if ("const" in node || Array.isArray(node["enum"])) {
      only("const", "enum", "type");
      return { enum: "const" in node ? [node["const"]] : node["enum"] };
    }
    const { type } = node as { type?: unknown };
    if (Array.isArray(type) && type.every((one) => typeof one === "string"))
      return { anyOf: type.map((one) => within({ ...rest, ...onlyFor(rest, one), type: one }, String(one), bare)) };
    if (typeof type !== "string" || !Object.hasOwn(known, type)) throw new SchemaProblem(`${place}: a type is missing, or is not one of ${Object.keys(known).join(", ")}`); // biome-ignore format: one refusal
    only("type", ...known[type]!);
    if (type === "string") checkText(node, place);
    if (type === "array") return { ...rest, items: within(node["items"] ?? {}, "items") };
    if (type !== "object") return rest;
    if (node["additionalProperties"] !== undefined && node["additionalProperties"] !== false)
      throw new SchemaProblem(
        `${place}: properties without a name are not supported: additionalProperties must be false`,
      );
    const { required = [] } = node;
    if (!Array.isArray(required) || required.some((name) => typeof name !== "string"))
      throw new SchemaProblem(`${place}: required is a list of names`);
    const properties = Object.entries(node.properties ?? {}).map(([name, child]) => [name, within(child, name)]);
    const missing = required.find((name) => node.properties?.[name] === undefined);
    if (missing !== undefined) throw new SchemaProblem(`${place}: the required ${missing} is not among the properties`);
    return { type, properties: Object.fromEntries(properties), required };
  }
  const whole = plain(root, "schema", 0, new Set(["#"]));
  if (recursive.size === 0) return whole;
  const $defs: Record<string, JsonSchema> = {};
  for (const name of recursive) // which grows on the way
    if (name !== "#")
      $defs[name.split("/").at(-1)!] = plain(referred(root, name, "schema"), name, 0, new Set(["#", name]));
  return { ...whole, $defs };
}

/** Refuses a format that can't be checked, and a pattern that is none. */
function checkText({ format, pattern }: JsonSchema, place: string): void {
  if ([format, pattern].some((one) => one !== undefined && typeof one !== "string"))
    throw new SchemaProblem(`${place}: format and pattern are texts`);
  if (format !== undefined && !Object.hasOwn(formats, String(format)) && pattern === undefined)
    throw new SchemaProblem(`${place}: the format "${String(format)}" is not known here`);
  try {
    if (pattern !== undefined) new RegExp(String(pattern), "u");
  } catch {
    throw new SchemaProblem(`${place}: "${String(pattern)}" is not a pattern`);
  }
}

/** A node of several types gives each type the keywords that are its own. */
function onlyFor(node: JsonSchema, type: unknown): Record<string, undefined> {
  const all = new Set(Object.values(known).flat());
  const own = known[String(type)] ?? [];
  return Object.fromEntries(Object.keys(node).filter((key) => all.has(key) && !own.includes(key)).map((key) => [key, undefined])); // biome-ignore format: one filter
}

function asSchema(value: unknown, place: string): JsonSchema {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new SchemaProblem(`${place} must be an object`);
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as JsonSchema;
}

function referred(root: JsonSchema, reference: string, place: string): unknown {
  if (reference === "#") return root;
  const path = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference);
  const found = path && (root[path[1]!] as Record<string, unknown> | undefined)?.[path[2]!];
  if (!found) throw new SchemaProblem(`${place}: "${reference}" leads nowhere; references are #/$defs/name`);
  return found;
}

/** An answer as JSON that follows a plain schema (alone or in one fence), or what is wrong with it. */
export function readJsonAnswer(schema: JsonSchema, text: string): { json: string } | { problem: string } {
  const plain = text.trim();
  const json = plain.startsWith("```") ? (fencedBlocks(plain, { ownLines: true })[0]?.inside ?? "").trim() : plain;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}` };
  }
  const isSimple = !/"(?:pattern|\$ref)"/.test(JSON.stringify(schema));
  try {
    const problem = inTime(json, isSimple, () => problemWith(schema, value, "it", schema), checkMs);
    return problem === undefined ? { json } : { problem };
  } catch {
    return { problem: "it could not be checked in time" };
  }
}

function problemWith(schema: JsonSchema, value: unknown, place: string, root: JsonSchema): string | undefined {
  const { $ref } = schema;
  if (typeof $ref === "string") return problemWith(referred(root, $ref, place) as JsonSchema, value, place, root);
  const options = schema["anyOf"] as JsonSchema[] | undefined;
  if (options) {
    const problems = options.map((option) => problemWith(option, value, place, root));
    return problems.includes(undefined) ? undefined : problems.at(-1);
  }
  const choices = schema["enum"] as unknown[] | undefined;
  if (choices) {
    const text = JSON.stringify(value);
    if (choices.some((choice) => JSON.stringify(choice) === text)) return undefined;
    return `${place} must be ${choices.map((choice) => JSON.stringify(choice)).join(" or ")}`;
  }
  const limits = schema as Record<string, number | undefined>;
  const outside = (size: number, least: string, most: string, what: string) => {
    if (size < (limits[least] ?? -Infinity)) return `${place} must have at least ${limits[least]} ${what}`;
    return size > (limits[most] ?? Infinity) ? `${place} must have at most ${limits[most]} ${what}` : undefined;
  };
  switch (schema.type) {
    case "object": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return `${place} must be an object`;
      if (schema["additionalProperties"] === true) return undefined;
      const fields = value as Record<string, unknown>;
      const missing = schema.required?.find((name) => !Object.hasOwn(fields, name));
      if (missing !== undefined) return `${missing} is missing`;
      for (const [name, field] of Object.entries(fields)) {
        const child = Object.hasOwn(schema.properties ?? {}, name) ? schema.properties![name] : undefined;
        if (!child) return `${name} was not asked for`;
        const problem = problemWith(child, field, name, root);
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
    case "array": {
      if (!Array.isArray(value)) return `${place} must be a list`;
      const items = schema["items"] as JsonSchema;
      const wrong = value.map((item, index) => problemWith(items, item, `${place}[${index}]`, root)).find(Boolean);
      return wrong ?? outside(value.length, "minItems", "maxItems", "items");
    }
    case "string":
      if (typeof value !== "string") return `${place} must be a text`;
      return outside([...value].length, "minLength", "maxLength", "characters") ?? wrongText(schema, value, place);
    case "number":
    case "integer": {
      if (typeof value !== "number" || (schema.type === "integer" && !Number.isInteger(value))) return `${place} must be a ${schema.type}`; // biome-ignore format: one check
      const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity, multipleOf } = limits; // biome-ignore format: one list
      if (value < minimum || value > maximum || value <= exclusiveMinimum || value >= exclusiveMaximum) return `${place} is out of its range`; // biome-ignore format: one check
      const times = multipleOf ? value / multipleOf : 0;
      return Math.abs(times - Math.round(times)) > 1e-9 ? `${place} must be a multiple of ${multipleOf}` : undefined;
    }
    case "boolean":
      return typeof value === "boolean" ? undefined : `${place} must be true or false`;
    default:
      return value === null ? undefined : `${place} must be null`;
  }
}

function wrongText({ format, pattern }: JsonSchema, value: string, place: string): string | undefined {
  if (formats[String(format)]?.(value) === false) return `${place} must be of the format ${String(format)}`;
  if (pattern === undefined) return undefined;
  return new RegExp(String(pattern), "u").test(value) ? undefined : `${place} must match ${String(pattern)}`;
}
