/** What every API refuses alike: a model that is not here, forms of answers that are not served. */
import { asObject } from "../core/json-value.ts";
import type { JsonSchema } from "../core/tool.ts";
import { anyObject, plainSchema, SchemaProblem } from "../language/json-schema.ts";
import { ApiError } from "./api-error.ts";
import type { ChainService } from "./chain-service.ts";

/** Refuses a model that this server does not have. */
export function checkModel(service: ChainService, asked: string | undefined): void {
  if (service.knows(asked)) return;
  throw new ApiError(404, `the model "${asked}" does not exist; ask for "${service.name}"`, {
    code: "model_not_found",
    param: "model",
  });
}

/** The form in which an answer was asked for, as a plain schema; undefined where any text will do. */
export function answerSchema(format: unknown): JsonSchema | undefined {
  const asked = asObject(format);
  const type = asked?.["type"];
  if (!asked || type === "text") return undefined;
  if (type === "json_object") return anyObject;
  const refuse = (message: string): never => {
    throw new ApiError(400, message, { code: "unsupported_format", param: "response_format" });
  };
  if (type !== "json_schema") refuse(`answers of the form ${String(type)} are not served`);
  try {
    // Chat completions nest the schema once more than the other APIs.
    return plainSchema(asObject(asked["json_schema"])?.["schema"] ?? asked["schema"]);
  } catch (error) {
    if (error instanceof SchemaProblem) return refuse(`this schema can't be followed: ${error.message}`);
    throw error;
  }
}
