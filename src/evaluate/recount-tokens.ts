/**
 * The same runs counted by another tokenizer. Tokens are counted in the vocabulary of the model that spent them, and a small
 * vocabulary made for one world writes its words in few tokens; so a saving is also given in the tokens of a tokenizer
 * that belongs to neither side. What was sent and written is counted again from the stored runs: the same two
 * definitions, billed and computed, the same rule for both sides.
 */
import { join } from "node:path";
import { runUsage } from "../base/count/run-usage.ts";
import { type CountTokens, messageTokens, toolTokens } from "../base/count/token-estimate.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { UsageError } from "../core/errors.ts";
import type { TeamRun, TeamStep } from "../core/team-run.ts";
import { contextVersions, type Trajectory, writtenForm } from "../core/trajectory.ts";
import type { Usage } from "../core/usage.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";
import type { StoredEvaluation } from "./read-evaluation.ts";
import { summarise } from "./summarise.ts";

type Counted = Pick<Usage, "promptTokens" | "completionTokens" | "billedTokens" | "computedTokens">;

/** An evaluation with its tokens counted again. Runs that are not stored can't be: that is an error, not a guess. */
export async function recountTokens(evaluation: StoredEvaluation, count: CountTokens): Promise<StoredEvaluation> {
  const counted = new Map<string, Counted>();
  for await (const line of readJsonl<{ kind: string; sample: number; value: Trajectory | TeamRun }>(
    join(evaluation.folder, "runs.jsonl"),
  )) {
    counted.set(`${line.sample} ${line.value.id}`, countRun(line.value, count));
  }
  const records = evaluation.records.map((record): EvaluationRecord => {
    if (record.run === undefined && record.usage.billedTokens === 0) return record;
    const again = counted.get(`${record.sample} ${record.run?.id}`);
    if (!again)
      throw new UsageError(
        `${evaluation.folder}: the run of ${record.taskId} is not stored, so its tokens can't be counted again: evaluate it again`,
      );
    return { ...record, usage: { ...record.usage, ...again } };
  });
  const { system, topology, samples, majority, measure } = evaluation.summary;
  const { tasks } = evaluation;
  return {
    ...evaluation,
    records,
    summary: summarise(records, { system, topology, samples, tasks, majority, measure }),
  };
}

export function countRun(run: Trajectory | TeamRun, count: CountTokens): Counted {
  return "segments" in run ? countChain(run, count) : countTeam(run, count);
}

/** A chain calls its model once for each stretch that it wrote; every call reads everything before it. */
function countChain({ prompt, segments, compactions }: Trajectory, count: CountTokens): Counted {
  const promptTokens = prompt.reduce((sum, message) => sum + messageTokens(message, count), 0);
  const counted = { promptTokens: 0, completionTokens: 0, billedTokens: 0, computedTokens: promptTokens };
  for (const { from, to, segments: shown } of contextVersions({ segments, compactions })) {
    let read = promptTokens;
    let changed = false; // what follows the first segment that is shown differently is computed again
    for (const [at, segment] of shown.slice(0, to).entries()) {
      const tokens = count(writtenForm(segment));
      changed ||= segment !== segments[at];
      if (at >= from && segment.by === "model") {
        if (at === 0 || shown[at - 1]!.by !== "model") counted.promptTokens += read;
        counted.completionTokens += tokens;
      }
      if (at >= from || changed) counted.computedTokens += tokens;
      read += tokens;
    }
  }
  counted.billedTokens = counted.promptTokens + counted.completionTokens;
  return counted;
}

function countTeam(run: TeamRun, count: CountTokens): Counted {
  const agents = new Map(run.agents.map((agent) => [agent.id, agent]));
  const calls = run.steps.map((step) => {
    const messages = step.input.map((hash) => run.messages[hash]).filter((message) => message !== undefined);
    const tools = agents.get(step.agentId)?.tools ?? [];
    const prompt = messages.reduce((sum, message) => sum + messageTokens(message, count), toolTokens(tools, count));
    return { ...step, messages, tools, promptTokens: prompt, completionTokens: writtenBy(step, count) };
  });
  const { promptTokens, completionTokens, billedTokens, computedTokens } = runUsage(calls, count);
  return { promptTokens, completionTokens, billedTokens, computedTokens };
}

function writtenBy({ text, reasoning = "", toolCalls }: TeamStep, count: CountTokens): number {
  const calls = toolCalls.map((call) => count(call.name) + count(call.arguments));
  return calls.reduce((sum, tokens) => sum + tokens, count(text) + count(reasoning));
}
