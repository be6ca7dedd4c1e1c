/**
 * Redacts an answer. In a stream, a secret may come in pieces that look harmless one by one, so the joined text is
 * checked too; if a secret is found only then, the record keeps the redacted whole instead of the pieces.
 */
import { type Redact, redactSecrets } from "../base/redact/redact.ts";
import type { WireApi } from "../base/wire/wire-api.ts";
import { readAnswer, writeStream } from "./read-answer.ts";

/** The answer as it may be written. */
export function redactResponse(
  api: WireApi | undefined,
  body: string,
  contentType: string,
  literals: readonly string[],
  hook?: Redact,
): string {
  const clean = asText(redactSecrets(body, literals, hook), body);
  if (!api || !/event-stream|ndjson/.test(contentType)) return clean;
  const reply = readAnswer(api, clean, contentType);
  const safe = redactSecrets(reply, literals, hook) as typeof reply;
  return JSON.stringify(safe) === JSON.stringify(reply) ? clean : writeStream(api, safe);
}

/** A hook may give back anything; what is not text is written as nothing. */
function asText(value: unknown, original: string): string {
  return typeof value === "string" ? value : original === "" ? "" : "[redacted]";
}
