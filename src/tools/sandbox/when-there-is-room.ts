/** A child that could not be started: what it says, and how a program waits for a machine that is full for a moment. */
import { setTimeout as sleep } from "node:timers/promises";
import { CoaError } from "../../core/errors.ts";

const longestWaitMs = 5_000;
const fullMachine = /temporarily unavailable|Cannot allocate memory|\b(EAGAIN|ENOMEM)\b/;

/** What the program was to run in ended before the program began. This says nothing about the program. */
export class NotStarted extends CoaError {
  constructor(command: string, why: string) {
    super("sandbox", `${command} did not start: ${why.trim() || "no reason given"}`);
  }
}

/** Waits and tries again while the machine refuses new processes. Nobody's program is to blame for that. */
export async function whenThereIsRoom<T>(start: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let waitMs = 50; ; waitMs *= 2) {
    try {
      return await start();
    } catch (error) {
      const full = error instanceof NotStarted && fullMachine.test(error.message);
      if (!full || waitMs > longestWaitMs) throw error;
      await sleep(waitMs, undefined, { signal });
    }
  }
}
