/** Which model, profile, tools and sampling a number belongs to, in one line for tables and reports. */

/** The line; undefined where nothing is known of the system. */
export function identityText(identity: Readonly<Record<string, unknown>> | undefined): string | undefined {
  if (!identity) return undefined;
  const parts = [
    textOf(identity["kind"]),
    labelled("model", modelText(identity["model"])),
    labelled("profile", nameOf(identity["profile"])),
    labelled("topology", textOf(identity["topology"])),
    labelled("tools", fieldsText(identity["tools"])),
    labelled("sampling", fieldsText(identity["sampling"])),
    labelled("harness", textOf(identity["harness"])),
    labelled("runs", textOf(identity["runs"])),
  ].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join("; ") : undefined;
}

function labelled(label: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${label} ${text}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function nameOf(value: unknown): string | undefined {
  return textOf(value) ?? textOf((value as { name?: unknown } | null)?.name);
}

/** A folder's name with the beginning of its fingerprint, or a server's model with its address. */
function modelText(value: unknown): string | undefined {
  if (value === null || typeof value !== "object") return textOf(value);
  const { name, fingerprint, server } = value as { name?: string; fingerprint?: string; server?: string };
  if (fingerprint) return `${name ?? "folder"} (${fingerprint.slice(0, 12)})`;
  return [name, server && `at ${server}`].filter(Boolean).join(" ") || undefined;
}

/** Fields that are set: `docs harbours, recorded runs.jsonl`. */
function fieldsText(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length > 0 ? value.join(" ") : undefined;
  if (value === null || typeof value !== "object") return textOf(value);
  const set = Object.entries(value).filter(
    ([, one]) => one !== undefined && one !== null && one !== false && !(Array.isArray(one) && one.length === 0),
  );
  const text = set.map(
    ([key, one]) =>
      `${key} ${Array.isArray(one) ? one.join(" ") : typeof one === "object" ? JSON.stringify(one) : one}`,
  );
  return text.length > 0 ? text.join(", ") : undefined;
}
