/** What every API refuses alike: a model that is not here, forms of answers that are not served. */
import { asObject, type Json } from "../core/json-value.ts";
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

/** Refuses answers that must follow a schema. */
export function checkFormat(body: Json): void {
  const format = asObject(body["response_format"]) ?? asObject(asObject(body["text"])?.["format"]);
  if (format && format["type"] !== "text") {
    throw new ApiError(400, `answers of the form ${String(format["type"])} are not served`, {
      code: "unsupported_format",
      param: "response_format",
    });
  }
}
