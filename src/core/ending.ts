/** Endings by an error: what they keep of it, and which of them end a whole batch. */

import type { Ending } from "./ending-schema.ts";
import { CoaError, messageOf } from "./errors.ts";

export type { Ending };

/** The ending of a run that an error stopped. */
export function errorEnding(error: unknown): Ending {
  const { retryAfterMs } = error as { retryAfterMs?: number };
  const code = error instanceof CoaError ? { code: error.code } : {};
  return { reason: "error", detail: messageOf(error), ...code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/**
 * Errors that every further run of a batch would have too and that only the user can fix: a wrong key, no such model or
 * host, a full disk, wrong usage. A batch stops at the first, keeps nothing of that run, and the next start tries
 * again.
 */
const userMustFix = new Set(["usage", "unauthorised", "not-found", "unreachable", "disk-full", "budget-spent"]);

/** Throws where a run ended in an error that only the user can fix. */
export function throwIfUserMustFix({ reason, code, detail }: Ending): void {
  if (reason !== "error" || code === undefined || !userMustFix.has(code)) return;
  throw new CoaError(
    code === "usage" ? "usage" : "model",
    `stopped at the first failure: ${detail}${remedies[code] ? `. ${remedies[code].replace(/\.$/, " and start again").replace(/\?$/, "? Start again then")}: what is done is kept` : ""}`,
    {
      code,
    },
  );
}

/** What the user can do, by the code of the error. */
export const remedies: Record<string, string> = {
  unauthorised: "Check the key (OPENAI_API_KEY).",
  "not-found": "Check the address and the model's name.",
  unreachable: "Is the server running, and is the address right?",
  "disk-full": "Make room.",
};
