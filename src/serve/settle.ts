/** The end of a served chain: what it used is counted for its caller, and one that failed becomes the API's own error. */
import { Refusal } from "../base/http/refusal.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Caller } from "./keys.ts";
import type { ServedEvent } from "./served-events.ts";

/** Counts the chain; throws where the model behind it failed or the caller stopped it. */
export async function settle(
  { trajectory, usage }: Extract<ServedEvent, { type: "end" }>,
  caller: Caller,
): Promise<Trajectory> {
  await caller.spend(usage.billedTokens, usage.costUsd);
  const { reason, detail, code } = trajectory.ending;
  if (reason === "error") {
    throw new Refusal(502, `the model behind this server failed: ${detail ?? "no reason given"}`, {
      code: code === "invalid_answer" ? code : "model_failed",
    });
  }
  if (reason === "aborted") throw new DOMException("the client left", "AbortError");
  return trajectory;
}
