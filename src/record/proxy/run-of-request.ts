/** Which run a request belongs to: by path (`/r/<run>/v1/…`), by the `x-coa-run` header, or by its trace. */
import type { IncomingHttpHeaders } from "node:http";
import { Refusal } from "../../base/http/refusal.ts";

/** The run id, if one is given, and the path without it. */
export function runOfRequest(url: string, headers: IncomingHttpHeaders): { runId?: string; path: string } {
  const inPath = /^\/r\/([^/?]+)(\/.*)$/.exec(url);
  const header = headers["x-coa-run"];
  const given = inPath ? decode(inPath[1]!) : typeof header === "string" ? header : undefined;
  const path = inPath?.[2] ?? url;
  if (given !== undefined) {
    if (!/^[\w.:@-]{1,128}$/.test(given)) {
      throw new Refusal(400, "a run id has 1 to 128 letters, digits and . : @ _ -");
    }
    return { runId: given, path };
  }
  const trace = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(String(headers["traceparent"] ?? ""))?.[1];
  return trace && !/^0+$/.test(trace) ? { runId: trace, path } : { path };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refusal(400, `the run id in the path can't be decoded: ${text}`);
  }
}
