/** Reads what clients send. */
import { z } from "zod";
import { parse } from "../../base/http/refusal.ts";
import { fromPass, passSchema } from "../../base/wire/tinker.ts";
import type { PassRequest } from "../../base/wire/tinker-protobuf.ts";

export const requestIds = z.object({ model_id: z.string(), seq_id: z.number().int().min(1).nullish() });

/** A pass in JSON, under `forward_input` or `forward_backward_input`. */
export function passFromJson(body: Record<string, unknown>, field: string): PassRequest {
  const { model_id: modelId, seq_id } = parse(requestIds, body);
  const { examples, loss } = fromPass(parse(passSchema, body[field]));
  return { modelId, seqId: seq_id ?? 0, examples, loss, forwardOnly: field === "forward_input" };
}
