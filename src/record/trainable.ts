/**
 * Whether a recorded run may be trained on. This is the only place that decides it, and each refusal has a name: a run
 * that is cut, or in which something happened that the recording does not hold, would teach the model something false.
 */
import type { TeamRun } from "../core/team-run.ts";
import type { CallParts } from "./assemble-run.ts";

/** Why a run must not be trained on. */
export type Untrainable = NonNullable<TeamRun["completeness"]["untrainable"]>[number];

/** The reasons, with what each means. */
export const untrainableReasons = {
  cut: "text is missing: a reply ended at the token limit or broke off, or the recording was shortened",
  "missing-media": "images, sound or files that the model saw are not in the recording",
  "hosted-tool": "a tool that the server ran left no result",
  "history-unseen": "a part of the conversation stayed on the server",
  unlinked: "an agent could not be linked to the one that started it",
  ambiguous: "more than one call may have started an agent (record with a run id), or more than one reply may be meant",
  "no-content": "prompts or replies are missing",
  refused: "the model refused to answer",
  "no-answer": "the run has no answer",
} as const;

/** A name of `untrainableReasons`. */
export type UntrainableReason = keyof typeof untrainableReasons;

/** All reasons against training on a run. */
export function whyUntrainable(
  run: Pick<TeamRun, "agents" | "steps" | "answer"> & { completeness: Omit<TeamRun["completeness"], "untrainable"> },
  calls: readonly CallParts[],
): Untrainable[] {
  const found: Untrainable[] = [];
  const add = (reason: UntrainableReason, detail?: string, step?: string) =>
    found.push({ reason, ...(detail && { detail }), ...(step && { step }) });
  const { truncated, content, notes } = run.completeness;
  for (const step of run.steps) {
    if (step.finish === "length") add("cut", "the reply ended at the token limit", step.id);
    else if (step.finish === "other") add("cut", "the reply did not end by itself", step.id);
  }
  if (truncated && found.length === 0) add("cut", notes.join("; "));
  const lost = new Set(calls.flatMap((call) => call.lost ?? []));
  if (lost.has("media")) add("missing-media");
  if (lost.has("hosted-tool")) add("hosted-tool");
  if (lost.has("server-history")) add("history-unseen");
  if (!content) add("no-content", notes.join("; "));
  else if (lost.has("prompt")) add("no-content", "a prompt is not one text");
  const roots = run.agents.filter((agent) => !agent.parentCallId && !agent.handoffFrom).length;
  // A team that records itself says what each step is; its judges are called by its rules, not by an agent.
  const marked = run.steps.some((step) => step.move !== undefined);
  if (roots > 1 && !marked) add("unlinked", `${roots - 1} of ${run.agents.length} agents`);
  const ambiguous = run.agents.filter((agent) => agent.ambiguousLink).length;
  if (ambiguous > 0) add("ambiguous", `${ambiguous} of ${run.agents.length} agents`);
  if (calls.some(mayBeAnother)) add("ambiguous", "several replies were asked for: which of them was used is not known");
  if (run.answer === null) add("no-answer");
  else if (run.steps.some((step) => step.refusal !== undefined && step.refusal === run.answer)) add("refused");
  return found;
}

/** Several different replies came to one request, and no later call shows which was used. */
function mayBeAnother({ text, toolCalls, others = [] }: CallParts): boolean {
  const said = (one: Pick<CallParts, "text" | "toolCalls">) =>
    JSON.stringify([one.text.trim(), one.toolCalls.map((call) => [call.name, call.arguments])]);
  return others.some((one) => said(one) !== said({ text, toolCalls }));
}

/** What keeps this run from being trained on, in one line, or null when nothing does. */
export function refusedForTraining(run: TeamRun): string | null {
  const reasons = run.completeness.untrainable ?? whyUntrainable(run, []);
  if (reasons.length === 0) return null;
  const lines = reasons.map(({ reason, detail }) => {
    const meaning = untrainableReasons[reason as UntrainableReason] ?? reason;
    return `${reason}: ${meaning}${detail ? ` (${detail})` : ""}`;
  });
  return [...new Set(lines)].join("; ");
}
