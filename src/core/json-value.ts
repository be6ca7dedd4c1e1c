/** Reads JSON from outside: every value may be missing or of another type, and none of that is an error. */

export type Json = Record<string, unknown>;

/**
 * Objects and arrays with sorted keys, as text: equal values give equal texts whatever the order they were written in.
 * `change` is applied to each string before.
 */
export function canonicalJson(value: unknown, change = (text: string) => text): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === "string") return change(inner);
    const fields = asObject(inner);
    return fields ? Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))) : inner;
  });
}

/** The value with each text in it changed, names of fields too. */
export function changeTexts<T>(value: T, change: (text: string) => string): T {
  return JSON.parse(JSON.stringify(value), (_key, inner: unknown) => {
    if (typeof inner === "string") return change(inner);
    const fields = asObject(inner);
    return fields ? Object.fromEntries(Object.entries(fields).map(([key, one]) => [change(key), one])) : inner;
  });
}

/** Parses JSON, or gives back undefined; hostile text is an ordinary input here. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A plain object, or undefined for anything else. */
export function asObject(value: unknown): Json | undefined {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Json) : undefined;
}

/** An array, or an empty one for anything else. */
export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of an array; other items are left out. */
export function objectsOf(value: unknown): Json[] {
  return asArray(value).filter((item) => asObject(item) !== undefined) as Json[];
}

/** A string, or undefined for anything else. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A number that can be counted with (numbers written as text count too), or undefined: sums of larger ones would not be exact. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === "string" && value.trim() === "") return undefined;
  const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined;
}

/** Text as it is, anything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}

/** The fields that have a value, for objects whose absent fields must be absent. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
