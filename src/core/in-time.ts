/**
 * Work with patterns that others wrote (a model folder, a client's schema), within a time: a pattern may take exponential time on a short text, and
 * nothing in the language can stop it but the engine's own watchdog.
 */
import { Script } from "node:vm";
import { budgets } from "./budget.ts";
import { CoaError } from "./errors.ts";

/** A text this short is split at once by a simple pattern: the watchdog would take longer than the work. */
const shortText = 1000;
const slot = "coa.work-in-time";
const script = new Script(`globalThis[${JSON.stringify(slot)}]()`);

/** Runs work on a text; what takes longer than the budget is broken off and refused. */
export function inTime<Result>(
  text: string,
  simple: boolean,
  work: () => Result,
  ms: number = budgets.tokens.ms,
): Result {
  if (simple && text.length <= shortText) return work();
  const place = globalThis as Record<string, unknown>;
  const before = place[slot]; // work may run inside of work
  place[slot] = work;
  try {
    return script.runInThisContext({ timeout: ms }) as Result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw new CoaError(
      "format",
      `the tokenizer took more than ${ms} ms for ${text.length} characters: its patterns are not usable`,
    );
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
