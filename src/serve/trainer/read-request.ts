/** Reads what clients send: what does not have the form of a request is refused as theirs. */
import { z } from "zod";
import { RefusedRequest } from "../../base/http/request-body.ts";
import { fromPass, passSchema } from "../../base/wire/tinker.ts";
import type { PassRequest } from "../../base/wire/tinker-protobuf.ts";
import { CoaError } from "../../core/errors.ts";

/** The model and the number of a request. */
export const requestIds = z.object({ model_id: z.string(), seq_id: z.number().int().min(1).nullish() });

/** A value of this form. */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new RefusedRequest(422, z.prettifyError(parsed.error));
  return parsed.data;
}

/** What the wire format refuses is the client's error. */
export function refusing<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof CoaError) throw new RefusedRequest(422, error.message);
    throw error;
  }
}

/** A pass in JSON, under `forward_input` or `forward_backward_input`. */
export function passFromJson(body: Record<string, unknown>, field: string): PassRequest {
  const { model_id: modelId, seq_id } = parse(requestIds, body);
  const { examples, loss } = fromPass(parse(passSchema, body[field]));
  return { modelId, seqId: seq_id ?? 0, examples, loss, forwardOnly: field === "forward_input" };
}
