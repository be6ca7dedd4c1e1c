/**
 * What a request may ask for, API by API: a value that no client of that API may send is refused by the name of its field,
 * before anything runs. Fields that are not named here are left alone, as clients of these APIs expect. What every API
 * refuses alike stands below: a model that is not here, forms of answers that are not served.
 */

import { z } from "zod";
import { Refusal } from "../base/http/refusal.ts";
import type { WireRequest } from "../base/wire/wire-api.ts";
import { asObject, asString, type Json, objectsOf } from "../core/json-value.ts";
import type { JsonSchema } from "../core/tool.ts";
import { anyObject, plainSchema, SchemaProblem } from "../language/json-schema.ts";
import type { ChainService } from "./chain-service.ts";

const count = z.int().min(1).nullish();
const flag = z.boolean().nullish();
const texts = z.array(z.string().min(1).max(1000)).max(64).nullish();
const objects = z.array(z.looseObject({}));
const messages = z.array(z.looseObject({ role: z.string() })).min(1);
const common = {
  model: z.string().nullish(),
  stream: flag,
  store: flag,
  top_p: z.number().min(0).max(1).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({})]).nullish(),
  max_tool_calls: z.int().min(0).nullish(),
};
const sampled = {
  ...common,
  n: count,
  seed: z.int().nullish(),
  max_tokens: count,
  temperature: z.number().min(0).nullish(),
  stop: z.union([z.string().max(1000), texts]).nullish(),
};
const named = z.looseObject({ name: z.string() });
/** Tools of other kinds are not checked. */
const functions = <T extends z.ZodType>(shape: T) =>
  z.array(z.union([z.looseObject({ type: z.string().refine((type) => type !== "function") }), shape])).nullish();

export const requestFields = {
  chat: z.looseObject({
    ...sampled,
    messages,
    max_completion_tokens: count,
    temperature: z.number().min(0).max(2).nullish(),
    stream_options: z.looseObject({}).nullish(),
    response_format: z.looseObject({}).nullish(),
    tools: functions(z.looseObject({ function: named })),
    functions: z.array(named).nullish(),
  }),
  completions: z.looseObject(sampled),
  chains: z.looseObject(sampled),
  responses: z.looseObject({
    ...common,
    input: z.union([z.string(), objects], "must be a text or a list of items"),
    instructions: z.string().nullish(),
    previous_response_id: z.string().nullish(),
    background: flag,
    max_output_tokens: count,
    temperature: z.number().min(0).max(2).nullish(),
    include: z.array(z.string()).nullish(),
    text: z.looseObject({}).nullish(),
    reasoning: z.looseObject({}).nullish(),
    tools: functions(named),
    // To ignore these would silently change what is asked.
    conversation: z.null("conversations are not kept here: use previous_response_id").optional(),
    prompt: z.null("stored prompts are not kept here: send instructions").optional(),
  }),
  messages: z.looseObject({
    ...common,
    messages,
    max_tokens: count,
    temperature: z.number().min(0).max(1).nullish(),
    stop_sequences: texts,
    system: z.union([z.string(), objects]).nullish(),
    tools: z.array(z.looseObject({ name: z.string() })).nullish(),
  }),
};

/** Refuses a model that this server does not have. */
export function checkModel(service: ChainService, asked: string | undefined): void {
  if (service.knows(asked)) return;
  throw new Refusal(404, `the model "${asked}" does not exist; ask for "${service.name}"`, {
    code: "model_not_found",
    param: "model",
  });
}

/** Refuses what only a model that sees or hears would understand. */
export function checkMedia({ lost }: WireRequest): void {
  if (!lost?.includes("media")) return;
  throw new Refusal(400, "images, sound and files are not understood: send text", { code: "unsupported_media" });
}

/** Which of the client's tools may be called, and whether one of them must be. */
export interface ToolChoice {
  mode: "auto" | "none" | "forced";
  /** Only these. */
  names?: string[];
}

const modes: Record<string, ToolChoice["mode"]> = { auto: "auto", none: "none", required: "forced", any: "forced" };

/** What a request says about which tools are called. */
export function toolChoice(choice: unknown): ToolChoice {
  const asked = typeof choice === "string" ? { type: choice } : (asObject(choice) ?? { type: "auto" });
  const type = asString(asked["type"]) ?? "auto";
  if (Object.hasOwn(modes, type)) return { mode: modes[type]! };
  const nameOf = (tool: Json) => asString(tool["name"]) ?? asString(asObject(tool["function"])?.["name"]);
  if (type === "allowed_tools") {
    const { mode, tools } = { ...asked, ...asObject(asked["allowed_tools"]) } as Json;
    const wanted = asString(mode) ?? "";
    return {
      mode: (Object.hasOwn(modes, wanted) && modes[wanted]) || "auto",
      names: objectsOf(tools).flatMap((tool) => nameOf(tool) ?? []),
    };
  }
  const name = nameOf(asked);
  if (/^(?:function|tool|custom)$/.test(type) && name) return { mode: "forced", names: [name] };
  throw new Refusal(400, `a chain chooses itself when it calls its own tools: tool_choice can't be ${type}`, {
    code: "unsupported_value",
    param: "tool_choice",
  });
}

/** Refuses tools that another server would run: here only a search is, where there is one. True where items of it are wanted. */
export function checkHosted({ profile }: ChainService, tools: readonly Json[]): boolean {
  const searches = profile.tags.some(({ tool }) => tool?.includes("search"));
  for (const [index, tool] of tools.entries()) {
    const type = asString(tool["type"]) ?? "";
    const own = tool["server_url"] === undefined && tool["connector_id"] === undefined;
    if ((type === "mcp" && own) || (/^web_search/.test(type) && searches)) continue;
    const what = type === "mcp" ? "MCP servers of a client" : `tools of the type ${type || "that is missing"}`;
    throw new Refusal(400, `${what} are not run here: bring them as functions`, {
      code: "unsupported_tool",
      param: `tools[${index}]`,
    });
  }
  return tools.length > 0;
}

/** The form in which an answer was asked for, as a plain schema; undefined where any text will do. */
export function answerSchema(format: unknown): JsonSchema | undefined {
  const asked = asObject(format);
  const type = asked?.["type"];
  if (!asked || type === "text") return undefined;
  if (type === "json_object") return anyObject;
  const refuse = (message: string): never => {
    throw new Refusal(400, message, { code: "unsupported_format", param: "response_format" });
  };
  if (type !== "json_schema") refuse(`answers of the form ${JSON.stringify(type)} are not served`);
  try {
    // Chat completions nest the schema once more than the other APIs.
    return plainSchema(asObject(asked["json_schema"])?.["schema"] ?? asked["schema"]);
  } catch (error) {
    if (error instanceof SchemaProblem) return refuse(`this schema can't be followed: ${error.message}`);
    throw error;
  }
}
