/**
 * Which reports a chain may do without. A report is content that others may repeat, and often do not: it is left out
 * only where each of its sentences stands, with every name, number and longer word, in one text of the chain: something
 * said later, or an observation of the agent that reports. All other reports are thoughts like any other.
 */
import type { TeamRun } from "../core/team-run.ts";
import { callArguments, callKey } from "../language/call-body.ts";
import type { Profile } from "../language/profile.ts";
import { recordedCalls } from "../language/recorded-tools.ts";
import type { Move } from "./read-moves.ts";

/** The moves, with reports that say something of their own made thoughts that are always shown. */
export function keepReports(moves: readonly Move[], run: TeamRun, profile: Profile): Move[] {
  const agentOf = new Map(run.steps.map((step) => [step.id, step.agentId]));
  const unsure = stepsOfRepeatedCalls(run);
  const later = [run.answer ?? ""];
  return moves
    .toReversed()
    .map((move, back) => {
      if (move.kind === "calls" || move.kind === "unplanned") return move;
      const isReport = move.kind === "thought" && move.weak === "report";
      const restated =
        isReport &&
        isSaidIn(move.text, [
          ...later,
          ...moves.slice(0, -1 - back).flatMap((other) => observedIn(other, agentOf.get(move.step), agentOf, profile)),
        ]);
      const shown = move.kind === "thought" ? !(move.weak === "task" || restated) : move.kind !== "propose";
      if (shown && !unsure.has(move.step)) later.push(move.text);
      if (!isReport || restated) return move;
      const { weak: _weak, ...kept } = move;
      return kept;
    })
    .toReversed();
}

/** Steps with a call that was made more than once: it may be left out, and what was thought for it as well. */
function stepsOfRepeatedCalls(run: TeamRun): Set<string> {
  const keys = Map.groupBy(recordedCalls(run), (call) => callKey(call.name, callArguments(call.arguments)));
  const repeated = new Set([...keys.values()].flatMap((calls) => (calls.length > 1 ? calls : [])));
  return new Set(run.steps.flatMap((step) => (step.toolCalls.some((call) => repeated.has(call)) ? [step.id] : [])));
}

/** What an agent was shown by its calls, where the chain shows all of it. */
function observedIn(
  move: Move,
  agent: string | undefined,
  agentOf: ReadonlyMap<string, string>,
  { style }: Profile,
): string[] {
  if (move.kind !== "calls") return [];
  return move.calls.flatMap(({ id, result = "" }) =>
    agentOf.get(move.stepOf?.[id] ?? move.step) === agent && result.length <= style.maxCharacters ? [result] : [],
  );
}

/** Whether each sentence of a text stands in one of these, by its names, numbers and longer words. */
export function isSaidIn(text: string, others: readonly string[]): boolean {
  const known = others.map((other) => new Set(other.toLowerCase().match(word)));
  return text.split(/(?<=[.!?…])\s+|\n+/).every((sentence) => {
    if (/^\s*$|:\s*$/.test(sentence)) return true; // a heading says nothing by itself
    const content = [
      ...names(sentence).flatMap((name) => name.toLowerCase().match(word) ?? []),
      ...(sentence.toLowerCase().match(word) ?? []).filter((one) => one.length > 3 || /^(?:no|not|nor)$/.test(one)),
    ];
    if (content.length === 0) return others.some((other) => other.includes(sentence.trim()));
    return known.some((words) => content.every((one) => words.has(one)));
  });
}

const word = /\p{L}[\p{L}\p{M}]*|\d[\d.,]*\d|\d/gu;

/** Words that are capitalised only because a sentence begins with them. */
const beginnings = new Set("the a an i it is in on at of to for from by with and or but no not now so this that these those there then first next what when where which who how if as we he she they his her its one two".split(" ")); // biome-ignore format: one list

/** Numbers and capitalised words: what a text could give away. */
export function names(text: string): string[] {
  const found = text.match(/\p{Lu}[\p{L}\p{M}'-]+|\d[\d.,]*\d|\d+/gu) ?? [];
  return found.filter((name) => !beginnings.has(name.toLowerCase()));
}
