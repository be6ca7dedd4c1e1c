/**
 * Test-time scaling: the same task several times, and a judge who picks the best run. `list-wise` shows the judge all
 * candidates at once; `scored` has each scored alone from 0 to 10. The judge sees answers and evidence, never a gold
 * answer. Where all candidates agree nobody needs to judge.
 */
import type { Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import { addUsage, emptyUsage, type Usage, usageOfCall } from "../core/usage.ts";
import { asChatModel, type RolePlayer } from "./role.ts";
import { runTeam, type TeamOptions } from "./run-team.ts";
import { clip } from "./working-memory.ts";

export interface BestOfOptions extends TeamOptions {
  /** How many runs. */
  n: number;
  choose?: "list-wise" | "scored";
  judge: RolePlayer;
}

export interface BestOf {
  /** The chosen run. */
  run: TeamRun;
  /** Its place among `runs`. */
  index: number;
  runs: TeamRun[];
  /** The judge's words, for list-wise one text, for scored one per run; empty where all agreed. */
  judgements: string[];
  /** All runs and the judge together. */
  usage: Usage;
}

const instructions = `You judge attempts of a team to answer a question. You do not know the right answer. Weigh for each attempt: does its evidence support its answer; is the evidence about the very thing that was asked; did it make progress without errors or loops; did it react well to what went wrong; is the answer complete and in the form asked for?`;

/** Runs a team n times on one task and has a judge choose. */
export async function bestOfTeam(task: Task, options: BestOfOptions): Promise<BestOf> {
  const { n, choose = "list-wise", judge: player, ...team } = options;
  const runs = await Promise.all(
    Array.from({ length: n }, (_, index) => runTeam(task, { ...team, seed: (team.seed ?? 0) + index })),
  );
  let usage = runs.map((run) => run.usage).reduce(addUsage, emptyUsage());
  const answered = runs.flatMap((run, index) => (run.answer === null ? [] : [index]));
  const answers = new Set(answered.map((index) => runs[index]!.answer!.trim().toLowerCase()));
  const first = answered[0] ?? 0;
  if (answers.size <= 1) return { run: runs[first]!, index: first, runs, judgements: [], usage };

  const judge = asChatModel(player, options.countTokens);
  const ask = async (content: string): Promise<string> => {
    const reply = await judge.chat({
      messages: [
        { role: "system", content: instructions },
        { role: "user", content },
      ],
      temperature: 0,
      signal: options.signal,
    });
    usage = addUsage(usage, usageOfCall(reply.usage, options.prices?.[judge.name]));
    return reply.text;
  };
  const question = `Question: ${task.question}`;
  if (choose === "list-wise") {
    const attempts = answered.map((index) => `# Attempt ${index + 1}\n${describeRun(runs[index]!)}`).join("\n\n");
    const request = 'Compare the attempts, then end with one line "Best: " and the number of the best attempt.';
    const text = await ask(`${question}\n\n${attempts}\n\n${request}`);
    const named = Number([...text.matchAll(/best\W{0,5}(?:attempt\W{0,3})?(\d+)/gi)].at(-1)?.[1]) - 1;
    const index = answered.includes(named) ? named : first;
    return { run: runs[index]!, index, runs, judgements: [text], usage };
  }
  const request = 'Judge this attempt, then end with one line "Score: " and a number from 0 to 10.';
  const judgements = await Promise.all(
    answered.map((index) => ask(`${question}\n\n# Attempt\n${describeRun(runs[index]!)}\n\n${request}`)),
  );
  const scores = judgements.map((text) =>
    Number([...text.matchAll(/score\W{0,5}(\d+(?:\.\d+)?)/gi)].at(-1)?.[1] ?? -1),
  );
  const index = answered[scores.indexOf(Math.max(...scores))]!;
  return { run: runs[index]!, index, runs, judgements, usage };
}

/** A run as a judge reads it: what was done with which outcome, and the answer. */
function describeRun(run: TeamRun): string {
  const lines = run.steps.flatMap((step) => {
    const agent = run.agents.find((one) => one.id === step.agentId);
    const calls = step.toolCalls
      .filter((call) => call.delegatesTo === undefined)
      .map((call) => `${call.name} ${call.arguments} -> ${clip(call.result ?? `error: ${call.error}`, 600)}`);
    const said = step.text.trim() === "" ? [] : [`${agent?.name ?? "agent"}: ${clip(step.text, 600)}`];
    return [...said, ...calls];
  });
  return `${lines.join("\n")}\nAnswer: ${run.answer}`;
}
