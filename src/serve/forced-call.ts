/**
 * A request that demands a call of a client's tool (`tool_choice`): the chain works as ever, its answer is the input of the
 * tool, in the tool's schema, and the caller gets it as the call.
 */
import { type Json, parseJson } from "../core/json-value.ts";
import type { ToolDescription } from "../core/profile.ts";
import type { JsonSchema } from "../core/tool.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { anyObject, plainSchema, SchemaProblem } from "../language/json-schema.ts";

/** The schema of the answer: the input of the one tool, or one of several with its input. */
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
