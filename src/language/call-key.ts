/** When two calls are the same call: same tool, same input, fields in any order, white space around strings ignored. */

/** Equal for calls that ask the same. */
export function callKey(tool: string, input: unknown): string {
  return `${tool} ${stableJson(input)}`;
}

function stableJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.trim());
  if (Array.isArray(value)) return `[${value.map(stableJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => `${JSON.stringify(name)}:${stableJson(field)}`)
      .join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}
