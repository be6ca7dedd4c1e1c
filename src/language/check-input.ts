/** Whether an input is what a tool takes: by the tool's own schema, or by the parts of JSON Schema that matter for a call. */
import { messageOf } from "../core/errors.ts";
import type { JsonSchema, StandardSchema, Tool } from "../core/tool.ts";

export type CheckedInput = { value: unknown } | { problem: string };

/** The input as the tool's schema reads it. Most schemas answer at once; only one that must wait makes us wait. */
export function checkInput(tool: Tool, input: unknown): CheckedInput | Promise<CheckedInput> {
  const standard = (tool.inputSchema as Partial<StandardSchema>)["~standard"];
  if (!standard) return checkByJsonSchema(tool.inputSchema as JsonSchema, input);
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
): CheckedInput {
  if (result.issues === undefined) return { value: result.value };
  const issue = result.issues[0];
  const place = issue?.path?.length ? `${issue.path.map(String).join(".")}: ` : "";
  return { problem: `${place}${issue?.message ?? "invalid input"}` };
}

/** Object, required fields, types of the named ones. */
function checkByJsonSchema(schema: JsonSchema, input: unknown): CheckedInput {
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
