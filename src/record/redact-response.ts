/**
 * Redacts an answer. In a stream, a secret may come in pieces that look harmless one by one, so the joined text is
 * checked too, of every field that comes in pieces; if a secret is found only then, the record keeps the redacted whole instead
 * of the pieces.
 */
import { hasDerived, type Redact, redactSecrets } from "../base/redact/redact.ts";
import type { WireApi } from "../base/wire/wire-api.ts";
import { readAnswer, streamedParts, writeStream } from "./read-answer.ts";

/** The answer as it may be written. */
export function redactResponse(
  api: WireApi | undefined,
  body: string,
  contentType: string,
  literals: readonly string[],
  hook?: Redact,
): string {
  const clean = asText(redactSecrets(body, literals, hook), body);
  const parts = api && streamedParts(api, clean, contentType);
  if (!api || !parts) return clean;
  const reply = readAnswer(api, clean, contentType);
  const safe = redactSecrets(reply, literals, hook) as typeof reply;
  // Ids and log-probabilities beside a text that was redacted spell it still.
  const isSpelled = clean !== body && hasDerived(body);
  const isSafe = (text: string) => redactSecrets(text, literals, hook) === text;
  return !isSpelled && JSON.stringify(safe) === JSON.stringify(reply) && joinedTexts(parts).every(isSafe)
    ? clean
    : writeStream(api, safe);
}

/** The texts of a stream's events, those of one field of one kind of event joined. */
function joinedTexts(parts: readonly unknown[]): string[] {
  const pieces = new Map<string, string[]>();
  const collect = (value: unknown, path: string): void => {
    if (typeof value === "string") {
      const known = pieces.get(path);
      if (known) known.push(value);
      else pieces.set(path, [value]);
    } else if (value !== null && typeof value === "object") {
      const { type, index, output_index: output } = value as Record<string, unknown>;
      const place = [type, index, output].map((one) => (typeof one === "object" ? "" : one)).join(".");
      for (const [key, inner] of Object.entries(value)) {
        if (Array.isArray(value)) collect(inner, path);
        else if (!notInPieces.test(key)) collect(inner, `${path}/${place}/${key}`);
      }
    }
  };
  for (const part of parts) collect(part, "");
  return Array.from(pieces.values(), (texts) => texts.join(""));
}

/** Fields that come whole with each event. */
const notInPieces = /id$|^(?:type|model|object|role|status|name|obfuscation|signature|encrypted_content)$/i;

/** A hook may give back anything; what is not text is written as nothing. */
function asText(value: unknown, original: string): string {
  return typeof value === "string" ? value : original === "" ? "" : "[redacted]";
}
