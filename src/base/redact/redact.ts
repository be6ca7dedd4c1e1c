/**
 * Keeps secrets out of recordings. Headers are never written at all; in bodies, fields with the names of credentials and
 * texts with the shape of keys are blanked, and so is every literal that the caller knows to be secret (the key of the
 * very request). A hook of the user's own runs last.
 */
import { CoaError } from "../../core/errors.ts";

/** Changes a value before it is written. */
export type Redact = (value: unknown) => unknown;

export const redactedText = "[redacted]";

const secretFields =
  /^(?:authorization|proxy-authorization|cookie|set-cookie|api[-_]?key|x-api-key|openai_api_key|access_token|refresh_token|id_token|client_secret|private_key|password|passwd|secret)$/i;

const secretShapes =
  /\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,}|lsv2_[A-Za-z0-9_]{20,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,})|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g;

/** How deep a recorded value may be nested. */
export const maxDepth = 200;

/** A copy of the value without secrets; `literals` are blanked wherever they stand. */
export function redactSecrets(value: unknown, literals: readonly string[] = [], hook?: Redact): unknown {
  const known = literals.filter((one) => one.length >= 6);
  const text = (one: string): string => {
    let clean = one.replace(secretShapes, (match) =>
      match.startsWith("Bearer") ? `Bearer ${redactedText}` : redactedText,
    );
    for (const literal of known) clean = clean.replaceAll(literal, redactedText);
    return clean;
  };
  const walk = (one: unknown, depth: number): unknown => {
    if (typeof one === "string") return text(one);
    if (one === null || typeof one !== "object") return one;
    if (depth > maxDepth) throw new CoaError("record", `a value is nested more than ${maxDepth} deep`);
    if (Array.isArray(one)) return one.map((inner) => walk(inner, depth + 1));
    return Object.fromEntries(
      Object.entries(one).map(([key, inner]) => [
        key,
        typeof inner === "string" && secretFields.test(key) ? redactedText : walk(inner, depth + 1),
      ]),
    );
  };
  const clean = walk(value, 0);
  return hook ? hook(clean) : clean;
}

/** Whether a value is nested deeper than that; stops looking as soon as it is. */
export function isNestedDeeper(value: unknown, depth: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return depth === 0 || Object.values(value).some((inner) => isNestedDeeper(inner, depth - 1));
}

/** The secrets of a request's headers: whatever stands where credentials stand. */
export function headerSecrets(headers: Iterable<[string, unknown]>): string[] {
  const secrets: string[] = [];
  for (const [name, value] of headers) {
    if (!/authorization|api-?key|token|cookie|secret/i.test(name) || typeof value !== "string") continue;
    secrets.push(value.replace(/^\s*(?:Bearer|Basic|Token)\s+/i, "").trim());
  }
  return secrets;
}
