/** Which model, profile, tools and sampling a number belongs to, in one line for tables and reports. */

const fields = ["kind", "model", "profile", "topology", "tools", "sampling", "harness", "runs"];

/** The line; undefined where nothing is known of the system. */
export function identityText(identity: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const parts = fields.flatMap((name) => {
    const value = identity?.[name];
    const text = name === "model" ? modelText(value) : name === "profile" ? nameOf(value) : textOf(value);
    return text ? [name === "kind" ? text : `${name} ${text}`] : [];
  });
  return parts.length > 0 ? parts.join("; ") : undefined;
}

/** Words as they are, lists as words, fields that are set: `docs harbours, recorded runs.jsonl`. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(" ");
  if (typeof value !== "object" || value === null)
    return value === undefined || value === null || value === false ? "" : String(value);
  const texts = Object.entries(value).map(([key, one]) => [key, isObject(one) ? JSON.stringify(one) : textOf(one)]);
  return texts.flatMap(([key, text]) => (text ? [`${key} ${text}`] : [])).join(", ");
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const nameOf = (value: unknown) => textOf(isObject(value) ? (value as { name?: unknown }).name : value);

/** A folder's name with the beginning of its fingerprint, or a server's model with its address. */
function modelText(value: unknown): string {
  if (!isObject(value)) return textOf(value);
  const { name, fingerprint, server } = value as { name?: string; fingerprint?: string; server?: string };
  if (fingerprint) return `${name ?? "folder"} (${fingerprint.slice(0, 12)})`;
  return [name, server && `at ${server}`].filter(Boolean).join(" ");
}
