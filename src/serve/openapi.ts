/** `/openapi.json`: what a server serves, made from its routes and from what the bodies of requests are checked with. */
import { z } from "zod";
import { packageVersion } from "../base/files/package-version.ts";
import type { Json } from "../core/json-value.ts";
import { feedbackFields } from "./feedback-endpoint.ts";
import { requestFields } from "./request-fields.ts";

const bodies: Record<string, z.ZodType> = {
  "POST /v1/chat/completions": requestFields.chat,
  "POST /v1/completions": requestFields.completions,
  "POST /v1/chains": requestFields.chains,
  "POST /v1/responses": requestFields.responses,
  "POST /v1/responses/input_tokens": requestFields.responses,
  "POST /v1/messages": requestFields.messages,
  "POST /v1/messages/count_tokens": requestFields.messages,
  "POST /v1/feedback": feedbackFields,
};

const error = {
  description: "Refused: the body says why, in the form of the route's API.",
  content: { "application/json": { schema: { type: "object" } } },
};

/** The description of these routes; those at open paths need no key. */
export function openapi(patterns: readonly string[], keyed: boolean, isOpen: (path: string) => boolean): Json {
  const paths: Record<string, Json> = {};
  for (const pattern of patterns) {
    const [method = "", path = ""] = pattern.split(" ");
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    }));
    const fields = bodies[pattern];
    const schema = fields ? z.toJSONSchema(fields, { io: "input", unrepresentable: "any" }) : { type: "object" };
    (paths[path] ??= {})[method.toLowerCase()] = {
      operationId: pattern.replace(/\W+/g, "_").replace(/_$/, "").toLowerCase(),
      ...(parameters.length > 0 && { parameters }),
      ...(keyed && isOpen(path) && { security: [] }),
      ...(method === "POST" && {
        requestBody: { required: fields !== undefined, content: { "application/json": { schema } } },
      }),
      responses: { 200: { description: "The answer, whole or as a stream of events." }, default: error },
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "chain-of-agents", version: packageVersion() },
    paths,
    ...(keyed && {
      security: [{ bearer: [] }, { key: [] }],
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer" },
          key: { type: "apiKey", in: "header", name: "x-api-key" },
        },
      },
    }),
  };
}
