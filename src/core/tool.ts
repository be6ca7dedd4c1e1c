/**
 * A tool: name, description, input schema, `execute`. The shape is the AI SDK's, so a tool written for it is accepted as
 * it is; the schema may be zod 4, any Standard Schema, or plain JSON Schema.
 */
import type { z } from "zod";

/** Plain JSON Schema, as far as tools use it. */
export type JsonSchema = { type?: string; properties?: Record<string, JsonSchema>; required?: string[] } & Record<
  string,
  unknown
>;

/** The part of Standard Schema V1 that we call; zod 4 schemas have it too. */
export interface StandardSchema<Input = unknown> {
  readonly "~standard": {
    readonly vendor: string;
    validate(
      value: unknown,
    ):
      | { value: Input; issues?: undefined }
      | { issues: readonly { message: string; path?: readonly unknown[] }[] }
      | Promise<{ value: Input; issues?: undefined } | { issues: readonly { message: string }[] }>;
  };
}

export interface ToolContext {
  signal: AbortSignal;
  /** One per chain, so that a sandbox or a cache can belong to one trajectory. */
  trajectoryId?: string;
  taskId?: string;
  /** The question and the newest thought, for tools that read with a goal (goal-directed page summaries). */
  question?: string;
  thought?: string;
  /** Marks the call as struck by an injected fault: the chain keeps it in `Segment.call.fault`. */
  onFault?: (kind: string) => void;
}

/** Something a chain can do besides decoding. */
// biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of different inputs
export interface Tool<Input = any> {
  name: string;
  description: string;
  inputSchema: StandardSchema<Input> | JsonSchema;
  execute(input: Input, context: ToolContext): Promise<unknown> | unknown;
  /** How long one call may take before it becomes an observation saying so. */
  timeoutMs?: number;
  /** Set where it answers from a recording: whether this call was recorded. */
  recorded?: (input: Input) => boolean;
  /** Calls of this tool differ each time even with equal input, so a repeated call must run again. */
  stateful?: boolean;
}

export interface ToolDefinition {
  name: string;
  description: string;
  timeoutMs?: number;
  stateful?: boolean;
}

/**
 * Defines a tool from a zod schema; the input type of its function follows from it. The AI SDK's words (`inputSchema`,
 * `execute`) mean the same as ours (`input`, `run`).
 */
export function defineTool<Schema extends z.ZodType>(
  definition: Pick<Tool, "name" | "description" | "timeoutMs" | "stateful"> &
    (
      | { input: Schema; run: Tool<z.output<Schema>>["execute"] }
      | { inputSchema: Schema; execute: Tool<z.output<Schema>>["execute"] }
    ),
): Tool<z.output<Schema>> {
  const { name, description, timeoutMs, stateful } = definition;
  const [schema, execute] =
    "input" in definition ? [definition.input, definition.run] : [definition.inputSchema, definition.execute];
  return { name, description, inputSchema: schema, execute, timeoutMs, stateful };
}

/** The input schema as JSON Schema, whatever it was written in. */
export function toolJsonSchema(tool: Tool): JsonSchema {
  const schema = tool.inputSchema;
  const standard = (schema as { "~standard"?: { jsonSchema?: { input(options: object): unknown } } })["~standard"];
  if (standard?.jsonSchema) return standard.jsonSchema.input({ target: "draft-2020-12" }) as JsonSchema;
  if ("_zod" in schema) {
    // zod's small form and its first versions need zod itself for it. They are rare, so it is not loaded at the start.
    const { createRequire } = process.getBuiltinModule("node:module");
    const { z } = createRequire(import.meta.url)("zod") as typeof import("zod");
    return z.toJSONSchema(schema as unknown as z.ZodType, { io: "input" }) as JsonSchema;
  }
  return standard ? { type: "object" } : (schema as JsonSchema);
}
