/**
 * What the fields of a request may be, API by API: a value that no client of that API may send is refused by the name of its
 * field, before anything runs. Fields that are not named here are left alone, as clients of these APIs expect.
 */
import { z } from "zod";
import type { Json } from "../core/json-value.ts";
import { ApiError } from "./api-error.ts";

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
const named = z.looseObject({ name: z.string() });
/** Tools of other kinds are not checked. */
const functions = <T extends z.ZodType>(shape: T) =>
  z.array(z.union([z.looseObject({ type: z.string().refine((type) => type !== "function") }), shape])).nullish();

/** The shapes of the requests. */
export const requestShapes = {
  chat: z.looseObject({
    ...common,
    messages,
    n: count,
    seed: z.int().nullish(),
    max_tokens: count,
    max_completion_tokens: count,
    temperature: z.number().min(0).max(2).nullish(),
    stop: z.union([z.string().max(1000), texts]).nullish(),
    stream_options: z.looseObject({}).nullish(),
    response_format: z.looseObject({}).nullish(),
    tools: functions(z.looseObject({ function: named })),
    functions: z.array(named).nullish(),
  }),
  completions: z.looseObject({
    ...common,
    n: count,
    seed: z.int().nullish(),
    max_tokens: count,
    temperature: z.number().min(0).nullish(),
    stop: z.union([z.string().max(1000), texts]).nullish(),
  }),
  chains: z.looseObject({
    ...common,
    seed: z.int().nullish(),
    max_tokens: count,
    temperature: z.number().min(0).nullish(),
  }),
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

/** Refuses a request with a field that can't be what it is. */
export function checkFields(shape: z.ZodType, body: Json): void {
  const issue = shape.safeParse(body).error?.issues[0];
  if (!issue) return;
  const param = issue.path.reduce<string>(
    (path, part) => (typeof part === "number" ? `${path}[${part}]` : `${path}${path && "."}${String(part)}`),
    "",
  );
  throw new ApiError(400, `${param}: ${issue.message}`, { code: "invalid_value", param });
}
