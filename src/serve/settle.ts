/** The end of a served chain: what it used is counted for its caller, and one that failed becomes the API's own error. */
import { Refusal, withoutAddresses } from "../base/http/refusal.ts";
import type { Ending } from "../core/ending.ts";
import { CoaError } from "../core/errors.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Caller } from "./keys.ts";
import type { ServedEnd } from "./served-events.ts";

/** Counts the chain; throws where the model behind it failed or the caller stopped it. */
export async function settle({ trajectory, usage }: ServedEnd, caller: Caller): Promise<Trajectory> {
  await caller.spend(usage);
  if (trajectory.ending.reason === "error") throw failure(trajectory.ending);
  if (trajectory.ending.reason === "aborted") throw new DOMException("the client left", "AbortError");
  return trajectory;
}

const busy: Record<string, number> = { "rate-limited": 429, overloaded: 503 };

/** What broke, without addresses of what stands behind this server: those are for the log. */
function failure({ detail = "no reason given", code = "", retryAfterMs = 1000 }: Ending): Refusal {
  const cause = new CoaError("model", detail);
  const status = busy[code];
  if (!status) {
    const message = `the model behind this server failed: ${withoutAddresses(detail)}`;
    return new Refusal(502, message, { code: code === "invalid_answer" ? code : "model_failed", cause });
  }
  const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1000)), "retry-after-ms": String(retryAfterMs) };
  const limited = status === 429 ? "rate_limit_exceeded" : "overloaded";
  return new Refusal(status, "the model behind this server is busy", { code: limited, headers, cause });
}
