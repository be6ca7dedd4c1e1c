/** When two calls are the same call: same tool, same input, fields in any order, white space around strings ignored. */
import { canonicalJson } from "../core/json-value.ts";

/** Equal for calls that ask the same. */
export function callKey(tool: string, input: unknown): string {
  return `${tool} ${canonicalJson(input, (text) => text.trim()) ?? "null"}`;
}
