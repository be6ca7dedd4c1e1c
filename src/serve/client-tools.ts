/**
 * Tools that a client brings along and runs itself. They are added to the profile like any other tool; a call of one
 * suspends the chain. The id of a call names its chain and its place in it, so that the result leads back there in
 * every API.
 */
import { Refusal } from "../base/http/refusal.ts";
import type { ToolDefinition } from "../base/wire/wire-api.ts";
import { asObject, type Json, parseJson } from "../core/json-value.ts";
import type { ToolDescription } from "../core/profile.ts";
import type { JsonSchema } from "../core/tool.ts";
import type { PendingCall, Trajectory } from "../core/trajectory.ts";
import { anyObject, plainSchema, SchemaProblem } from "../language/json-schema.ts";

export interface ClientCall {
  /** Without the prefix that each API has of its own. */
  id: string;
  tool: string;
  input: unknown;
}

export function clientCall(chainId: string, { id, tool, input }: PendingCall): ClientCall {
  return { id: `${chainId.replace(/^chain_/, "")}_${id.replace(/^call_/, "")}`, tool, input };
}

/** The chain and its call that an id of ours leads to, whatever the prefix. */
export function callOf(id: string): { chain: string; call: string } | undefined {
  const found = /^[a-z]+_([0-9a-f]{32})_(\d+_\d+)$/.exec(id);
  return found ? { chain: `chain_${found[1]}`, call: `call_${found[2]}` } : undefined;
}

export function clientTools(functions: readonly ToolDefinition[]): ToolDescription[] {
  const names = new Set<string>();
  return functions.map(({ name, description = "", parameters }, index) => {
    const refuse = (message: string): never => {
      throw new Refusal(400, message, { code: "invalid_tool", param: `tools[${index}]` });
    };
    if (!/^[\w.-]{1,64}$/.test(name)) refuse(`"${name}" can't be the name of a tool: letters, digits, _ and - only`);
    if (names.has(name)) refuse(`two tools are named ${name}`);
    names.add(name);
    const schema = parameters === undefined || parameters === null ? {} : asObject(parameters);
    if (!schema) refuse(`the parameters of ${name} must be a JSON schema`);
    const type = schema!["type"] ?? "object";
    if (type !== "object") refuse(`the parameters of ${name} must be an object, not ${JSON.stringify(type)}`);
    return { name, description, inputSchema: { properties: {}, ...schema, type: "object" } };
  });
}

/** Where a call is demanded (`tool_choice`), the schema of the answer: the input of the one tool, or one of several with its input. */
export function forcedSchema(tools: readonly ToolDescription[]): JsonSchema {
  const inputs = tools.map(({ name, inputSchema }) => ({ name, input: inputOf(inputSchema) }));
  if (inputs.length === 1) return inputs[0]!.input;
  const fields = { type: "object", required: ["tool", "input"] };
  return { anyOf: inputs.map(({ name, input }) => ({ ...fields, properties: { tool: { enum: [name] }, input } })) };
}

/** A client's schema may say more than is checked here: then any object is taken. */
function inputOf(schema: JsonSchema): JsonSchema {
  try {
    const plain = plainSchema(schema);
    return plain["$defs"] ? anyObject : plain; // references hold for a whole schema only
  } catch (error) {
    if (error instanceof SchemaProblem) return anyObject;
    throw error;
  }
}

export function forcedInstructions(tools: readonly ToolDescription[]): string {
  const told = tools.map(({ name, description, inputSchema }) => {
    return `${name}${description ? ` (${description})` : ""}, whose input follows ${JSON.stringify(inputSchema)}`;
  });
  const form = told.length === 1 ? "only the input" : 'the call, as {"tool": its name, "input": its input}';
  return `Do not answer in words. What you find is passed on to ${told.join("; or ")}. Give ${form} as your answer.`;
}

/** The chain whose answer is a call; one without an answer stays as it is. */
export function asCall(trajectory: Trajectory, tools: readonly ToolDescription[]): Trajectory {
  if (trajectory.answer === null) return trajectory;
  const answer = parseJson(trajectory.answer) as Json;
  const several = tools.length > 1;
  const call = { tool: several ? String(answer["tool"]) : tools[0]!.name, input: several ? answer["input"] : answer };
  const segment = trajectory.segments.length;
  const pending = [{ id: `call_${segment}_0`, segment, ...call }];
  return { ...trajectory, answer: null, ending: { reason: "suspended" }, pending };
}
