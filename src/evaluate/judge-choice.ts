/**
 * A judge model chooses among all candidates, side by side. It sees answers and evidence. Where all candidates agree it is not asked; where it gives nothing usable, the majority
 * decides.
 */

import { messageOf } from "../core/errors.ts";
import type { ChatModel, Prices } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import { addUsage, emptyUsage, priceOf, usageOfCall } from "../core/usage.ts";
import { byMajority, type Candidate, type Choose, sameAnswer } from "./choose.ts";

/** Of each candidate; the newest evidence is kept. */
const maxEvidenceCharacters = 2000;

const instructions =
  "You compare candidate answers to one question. You do not know the right answer. Trust evidence over confidence: an answer that its sources support beats one that is only asserted. Weigh too whether the evidence is about the very thing asked, and whether the answer is complete and in the form asked for.";

export function byJudge({ model, prices }: { model: ChatModel; prices?: Prices }): Choose {
  const majority = byMajority();
  return async (task, candidates, { signal }) => {
    const answered = candidates.flatMap((candidate, index) => (candidate.answer === null ? [] : [index]));
    if (await allAgree(task, candidates, answered)) return majority(task, candidates, { signal });
    let usage = emptyUsage();
    const ask = async (content: string): Promise<string> => {
      const messages = [
        { role: "system" as const, content: instructions },
        { role: "user" as const, content: `Question: ${task.question}\n\n${content}` },
      ];
      const reply = await model.chat({ messages, temperature: 0, maxTokens: 600, signal });
      usage = addUsage(usage, usageOfCall(reply.usage, priceOf(prices, model.name)));
      return reply.text;
    };
    let problem: string;
    try {
      const shown = answered.map((index) => describe(candidates[index]!));
      const { place, reason } = await listed(shown, ask);
      if (place !== undefined) return { index: answered[place]!, reason, usage };
      problem = reason;
    } catch (error) {
      if (signal?.aborted) throw error;
      problem = `the judge failed: ${messageOf(error)}`;
    }
    const fallback = await majority(task, candidates, { signal });
    return { ...fallback, reason: `${problem}; ${fallback.reason}`, usage };
  };
}

async function allAgree(task: Task, candidates: readonly Candidate[], answered: readonly number[]): Promise<boolean> {
  const [first, ...others] = answered.map((index) => candidates[index]!.answer!);
  for (const other of others) if (!(await sameAnswer(undefined, task, first!, other))) return false;
  return true;
}

interface Verdict {
  /** Place among the candidates shown; undefined where the judge named none. */
  place?: number;
  reason: string;
}

async function listed(shown: readonly string[], ask: (content: string) => Promise<string>): Promise<Verdict> {
  const list = shown.map((text, place) => `Candidate ${place + 1}\n${text}`).join("\n\n");
  const text = await ask(
    `${list}\n\nWhich candidate is most likely right? Reply with JSON only: {"reason": "one sentence", "best": number}`,
  );
  const named = [...text.matchAll(/best\W{0,8}(?:candidate\W{0,3})?(\d+)/gi)].at(-1)?.[1];
  if (named === undefined || shown[Number(named) - 1] === undefined) {
    return { reason: `the judge named candidate ${named ?? "none"} of ${shown.length}` };
  }
  const reason = /["']?reason["']?\s*:\s*(["'])([\s\S]*?)\1/.exec(text)?.[2] ?? "the judge's choice";
  return { place: Number(named) - 1, reason };
}

/** A candidate as the judge sees it: what was found, newest last, and its answer. */
function describe({ run, answer }: Candidate): string {
  const evidence = evidenceOf(run).join("\n").slice(-maxEvidenceCharacters);
  return `Evidence it gathered:\n${evidence || "(none)"}\nAnswer: ${answer}`;
}

function evidenceOf(run: Candidate["run"]): string[] {
  const line = (tool: string, text: string) => `- ${tool}: ${text.replaceAll(/\s+/g, " ").slice(0, 400)}`;
  if (run?.kind === "trajectory") {
    const observations = run.value.segments.filter((segment) => segment.by === "tool");
    return observations.map((segment) => line(segment.call?.tool ?? "tool", segment.text));
  }
  if (run?.kind !== "team-run") return [];
  const calls = run.value.steps.flatMap((step) => step.toolCalls.filter((call) => call.delegatesTo === undefined));
  return calls.map((call) => line(`${call.name} ${call.arguments}`, call.result ?? `error: ${call.error}`));
}
