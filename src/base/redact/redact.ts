/**
 * Keeps secrets out of recordings. Headers are never written at all; in bodies, fields with the names of credentials and
 * texts with the shape of keys are blanked, and so is every literal that the caller knows to be secret (the key of the
 * very request). JSON inside a text (the arguments of a tool call) is looked into as well. A hook of the user's own runs
 * last.
 */

import { budgets, jsonExcess, maxDepth } from "../../core/budget.ts";
import { CoaError } from "../../core/errors.ts";
import type { Json } from "../../core/json-value.ts";
import { redactText } from "./redact-text.ts";
import { isSecretName, redactedText } from "./secret-names.ts";
import { redactShapes } from "./secret-shapes.ts";

/** Changes a value before it is written. */
export type Redact = (value: unknown) => unknown;

/** JSON in a text in JSON in a text: this many times, no more. */
const maxTextDepth = 4;

/** A copy of the value without secrets; `literals` are blanked wherever they occur. */
export function redactSecrets(value: unknown, literals: readonly string[] = [], hook?: Redact): unknown {
  const known = [...new Set(literals)].filter((one) => one.length >= 6);

  const text = (one: string, textDepth: number): string => {
    let clean = one;
    if (textDepth < maxTextDepth && /^\s*[{[]/.test(one)) {
      const json = jsonExcess(one, budgets.line) ? undefined : parsed(one);
      if (json !== undefined) {
        const before = JSON.stringify(json);
        const walked = walk(json, 0, textDepth + 1);
        if (JSON.stringify(walked) !== before) clean = JSON.stringify(withoutDerived(walked));
      }
    }
    clean = redactText(clean);
    for (const literal of known) clean = clean.replaceAll(literal, redactedText);
    return clean;
  };

  const walk = (one: unknown, depth: number, textDepth: number, key = ""): unknown => {
    if (typeof one === "string") return text(one, textDepth);
    if (one === null || typeof one !== "object") return one;
    if (depth > maxDepth) throw new CoaError("record", `a value is nested more than ${maxDepth} deep`);
    if (Array.isArray(one)) return list(one, key).map((inner) => walk(inner, depth + 1, textDepth));
    const named = nameOfPair(one);
    return Object.fromEntries(
      Object.entries(one).map(([key, inner]) => {
        const secret = (named !== undefined && valued.test(key)) || isSecretField(key, one as Json);
        return [
          redactShapes(key),
          secret ? blank(inner, () => walk(inner, depth + 1, textDepth)) : walk(inner, depth + 1, textDepth, key),
        ];
      }),
    );
  };

  const walked = walk(value, 0, 0);
  const clean = hook ? hook(walked) : walked;
  const isChanged = typeof value === "object" && JSON.stringify(clean) !== JSON.stringify(value);
  return isChanged ? withoutDerived(clean) : clean;
}

/** Fields that spell a text once more: log-probabilities with their words, tokens as words, lists of ids or bytes, and hashes. */
const wordsField = /log_?probs(?:_?result)?$/i;
const tokensField = /tokens(?:_?(?:text|str|strings?))?$/i;
const idsField = /(?:token_?ids|^input_?ids|^context|^bytes|^entropies|embeddings?)$/i;
const hashField = /(?:^|[_-])(?:hash|sha-?\d{1,3}|md5|digest|checksum)$|[a-z]Hash$/i;
const isIds = (value: unknown): boolean =>
  Array.isArray(value) ? value.every((one) => one === null || isIds(one)) : typeof value === "number";

/** A value from which a secret was taken, without what was derived from its texts; a count of tokens is not. */
function withoutDerived(value: unknown): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(withoutDerived);
  const isDerived = (key: string, inner: unknown): boolean => {
    if (typeof inner === "string") return hashField.test(key);
    if (inner === null || typeof inner !== "object") return false;
    if (Array.isArray(inner) && tokensField.test(key)) return true;
    return wordsField.test(key) || (idsField.test(key) && isIds(inner));
  };
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (isDerived(key, inner) ? [] : [[key, withoutDerived(inner)]])),
  );
}

/** Whether a text in JSON may hold fields that are derived from other texts of it. */
export const hasDerived = (text: string): boolean =>
  /log_?probs|token_?ids|embedding|(?:hash|sha-?\d+|md5|digest|checksum)"|"(?:bytes|context)"|tokens\w*"\s*:\s*\[/i.test(
    text,
  );

/** `token` is a credential, except beside a log-probability or an id, where it is a word of the model; `pass: 12` and `secrets: 3` are counts. */
function isSecretField(key: string, fields: Json): boolean {
  const { token, auth } = fields as { token?: unknown; auth?: unknown };
  if ("kty" in fields) return /^(?:d|p|q|dp|dq|qi|k)$/.test(key); // the private parts of a JSON web key
  // The user and the password of a registry, in base64; the name of a method is a word.
  if (key === "auth") return typeof auth === "string" && /^(?=.*[A-Z\d])[A-Za-z0-9+/]{12,}={0,2}$/.test(auth);
  if (key !== "token") return isSecretName(key) && !(/s$/i.test(key) && typeof fields[key] === "number");
  if (token !== null && typeof token === "object") return !("logprob" in token || "text" in token);
  const isWord = typeof token !== "string" || token.length < 16;
  return !("logprob" in fields || "bytes" in fields || ("id" in fields && isWord));
}

/** Headers also come as a list: `["X-Api-Key", "value"]`, or names and values in turn. */
function list(values: readonly unknown[], key: string): readonly unknown[] {
  const isPair = values.length === 2 && /[^A-Za-z_]/.test(String(values[1]));
  const isHead = (one: unknown, at: number) => at % 2 === 0 && /^(?:authorization|(?:set-)?cookie|(?:x|proxy|api)-[a-z-]{2,40})$/i.test(String(one)); // biome-ignore format: one question
  if (!isPair && !/headers$/i.test(key) && (values.length % 2 === 1 || !values.some(isHead))) return values;
  if (key === "auth" && isPair) return [values[0], redactedText];
  return values.map((value, at) => {
    const name = values[at - 1];
    const isValue = at % 2 === 1 && typeof name === "string" && typeof value === "string";
    // The head of a table is a list of words: ["Token", "Price"].
    return isValue && isSecretName(name) && /[^A-Za-z_ ]/.test(value) ? redactedText : value;
  });
}

/** Headers, variables and attributes come in pairs: `{ name, value }`, `{ key, value }`, `{ label, text }` (which a message is not). */
const naming = /^(?:name|key|label|field|id|title|variable|header|property|attribute|param(?:eter)?|k)$/i;
const valued = /(?:value|^content|^text|^v|^val|^data)$/i;

function nameOfPair(fields: object): string | undefined {
  if ("role" in fields || !Object.keys(fields).some((key) => valued.test(key))) return undefined;
  const named = Object.entries(fields).find(
    ([key, one]) =>
      naming.test(key) &&
      typeof one === "string" &&
      (isSecretName(one) || isSecretName(one.trim().replaceAll(" ", "_"))),
  );
  return named?.[1] as string | undefined;
}

/** A secret as text, number, list or `{ stringValue }`; other objects (a JSON Schema of the field) are looked into. */
function blank(value: unknown, lookInto: () => unknown): unknown {
  if (typeof value === "string" || typeof value === "number") return value === "" ? "" : redactedText;
  if (Array.isArray(value)) return value.map((inner) => blank(inner, () => inner));
  if (value === null || typeof value !== "object" || "type" in value) return lookInto();
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, blank(inner, () => inner)]));
}

function parsed(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return value !== null && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The secrets of a request's headers: the values of headers that carry credentials. */
export function headerSecrets(headers: Iterable<[string, unknown]>): string[] {
  const secrets: string[] = [];
  for (const [name, value] of headers) {
    if (!/authorization|api-?key|token|cookie|secret/i.test(name) || typeof value !== "string") continue;
    const [scheme = "", ...rest] = value.trim().split(/\s+/);
    secrets.push(/^(?:Bearer|Basic|Token)$/i.test(scheme) ? rest.join(" ") : value.trim());
  }
  return secrets;
}
