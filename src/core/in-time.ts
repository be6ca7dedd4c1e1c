/**
 * Work with patterns that others wrote (a model folder, a client's schema), within a time: a pattern may take exponential time on a short text, and
 * nothing in the language can stop it but the engine's own watchdog.
 */
import { Script } from "node:vm";
import { budgets } from "./budget.ts";
import { CoaError, messageOf } from "./errors.ts";

/** A text this short is split at once by a simple pattern: the watchdog would take longer than the work. */
const shortText = 1000;
const slot = "coa.work-in-time";
const script = new Script(`globalThis[${JSON.stringify(slot)}]()`);

/** Runs work on a text; what takes longer than the budget is broken off, and what breaks is told as an error of the format. */
export function inTime<Result>(
  text: string,
  simple: boolean,
  work: () => Result,
  ms: number = budgets.tokens.ms,
): Result {
  const place = globalThis as Record<string, unknown>;
  const before = place[slot]; // work may run inside of work
  try {
    if (simple && text.length <= shortText) return work();
    place[slot] = work;
    return script.runInThisContext({ timeout: ms }) as Result;
  } catch (error) {
    if (error instanceof CoaError) throw error;
    const late = (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    const why = late
      ? `took more than ${ms} ms for ${text.length} characters`
      : `can't be applied: ${messageOf(error)}`;
    throw new CoaError("format", `the patterns ${why}`, { cause: error });
  } finally {
    place[slot] = before;
  }
}

/** Whether nothing is repeated but single characters, twice at most: then time grows at most with the cube of the text. */
export function isSimple(pattern: string): boolean {
  const characters = pattern.replace(/\\[pP]\{[^}]*\}|\\./gs, "c").replace(/\[(?:\^?\])?[^\]]*\]/g, "c");
  const bare = characters.replace(/\([^()*+{}]*\)(?![*+{])/g, "c"); // groups in which nothing is repeated
  if (bare.includes("(")) return false;
  return bare.split("|").every((part) => (part.match(/[*+]|\{\d+,\d*\}/g) ?? []).length <= 2);
}
