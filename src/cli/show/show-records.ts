/** Team runs and chains, of a file, of recordings or of a training: a line for each, or one of them whole. */
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { type FoundRecord, recordIn } from "../../base/files/record-kind.ts";
import { UsageError } from "../../core/errors.ts";
import { readTeamRun, type TeamRun } from "../../core/team-run.ts";
import { readTrajectory, type Trajectory } from "../../core/trajectory.ts";
import { servedReport } from "../../evaluate/served-report.ts";
import { readRecordings } from "../../record/recordings.ts";
import { runTree, summariseRun } from "../../record/run-summary.ts";
import { readUnrecorded, unrecordedText } from "../../record/unrecorded.ts";
import { table } from "../output.ts";
import { chainText } from "../render-chain.ts";
import { servedText } from "./served-text.ts";
import type { Asked, Shown, View } from "./shown.ts";

/** Shows a folder of recordings; an item is a run, by how its id begins. */
export const showRecordings: View = async (folder, asked) => {
  const runs = await readRecordings(folder);
  const missed = await readUnrecorded(folder);
  const shown = runsShown(runs, folder, asked);
  return { ...shown, notes: [...(shown.notes ?? []), ...(missed.length > 0 ? [unrecordedText(missed)] : [])] };
};

/** Shows a file of team runs or chains, bare or inside rollouts. */
export const showRecords: View = async (file, asked) => recordsShown(readJsonl(file), file, asked);

/** Shows records as they are read. */
export async function recordsShown(records: AsyncIterable<unknown>, from: string, asked: Asked): Promise<Shown> {
  const found: FoundRecord[] = [];
  for await (const value of records) {
    const one = recordIn(value);
    if (one) found.push(one);
  }
  const runs = found.flatMap((one) => (one.kind === "run" ? [readTeamRun(one.run)] : []));
  if (runs.length > 0) return runsShown(runs, from, asked);
  return chainsShown(
    found.flatMap(({ kind, around, ...one }) =>
      kind === "chain" && "chain" in one ? [{ chain: readTrajectory(one.chain), reward: around?.reward }] : [],
    ),
    from,
    asked,
  );
}

function runsShown(all: readonly TeamRun[], from: string, { item, out }: Pick<Asked, "item" | "out">): Shown {
  if (item !== undefined) {
    const runs = all.filter((run) => run.id.startsWith(item) || run.taskId === item);
    if (runs.length === 0) throw noneOf(from, "run", item, all);
    return {
      json: runs.map(summariseRun),
      text: runs.map((run) => runTree(run, out.width)).join("\n\n"),
      records: each(runs),
    };
  }
  if (all.length === 0)
    return {
      json: [],
      text: "",
      notes: [`no runs in ${from} yet. Record with: coa record proxy --to <server>`],
      records: each(all),
    };
  const runs = all.map(summariseRun);
  const priced = runs.some(({ costUsd }) => costUsd > 0);
  const rows = runs.map((run) => [
    cut(run.id, 24),
    String(run.agents.length),
    String(run.modelCalls),
    String(run.toolCalls),
    String(run.tokens.billed),
    run.refused === null ? "yes" : `no: ${run.reasons.join(", ")}`,
    ...(priced ? [`$${run.costUsd.toFixed(6)}`] : []),
    cut(run.question, 50),
  ]);
  const head = ["run", "agents", "calls", "tools", "tokens", "trainable", ...(priced ? ["cost"] : []), "question"];
  const reasons = Map.groupBy(
    runs.flatMap((run) => run.reasons),
    (reason) => reason,
  );
  const why = [...reasons].map(([reason, { length }]) => `${reason} ${length}`).join(", ");
  const shaped = runs.filter(({ completeness }) => completeness.inferred?.includes("run")).length;
  const trainable = runs.filter((run) => run.refused === null).length;
  return {
    json: runs,
    text: table([head, ...rows], ["left", "right", "right", "right", "right"]),
    notes: [
      ...(shaped > 0
        ? [`${shaped} of ${runs.length} runs were put together from what was said: no run id was given`]
        : []),
      `${trainable} of ${runs.length} runs may be trained on${why ? `; not: ${why}` : ""}`,
    ],
    records: each(all),
  };
}

function chainsShown(
  all: readonly { chain: Trajectory; reward?: number }[],
  from: string,
  { item, out }: Pick<Asked, "item" | "out">,
): Shown {
  const chains = all.map(({ chain }) => chain);
  if (item !== undefined) {
    const found = chains.filter((chain) => chain.id.startsWith(item) || chain.taskId === item);
    if (found.length === 0) throw noneOf(from, "chain", item, chains);
    return { json: found, text: found.map((chain) => chainText(chain, out.style)).join("\n\n"), records: each(found) };
  }
  const served = servedReport(chains);
  const beside = served.shadow.compared + served.shadow.unknown + served.fallback.asked > 0;
  const lines = all.map(({ chain, reward = chain.reward }) => ({
    id: chain.id,
    taskId: chain.taskId,
    ending: chain.ending.reason,
    ...(reward !== undefined && { reward }),
    toolCalls: chain.usage.toolCalls,
    tokens: chain.usage.billedTokens,
    answer: chain.answer,
  }));
  const rows = lines.map(({ id, taskId, ending, reward, toolCalls, tokens, answer }) => [
    cut(id, 24),
    cut(taskId, 24),
    ending,
    reward === undefined ? "" : String(Number(reward.toPrecision(3))),
    String(toolCalls),
    String(tokens),
    cut(answer ?? "", 40),
  ]);
  const head = ["chain", "task", "ending", "reward", "tools", "tokens", "answer"];
  return {
    json: { chains: lines, ...(beside && { served }) },
    text: [
      table([head, ...rows], ["left", "left", "left", "right", "right", "right"]),
      ...(beside ? ["", servedText(served)] : []),
    ].join("\n"),
    records: each(chains),
  };
}

const each = (records: readonly unknown[]) =>
  async function* () {
    yield* records;
  };

function noneOf(from: string, what: string, item: string, all: readonly { id: string }[]): UsageError {
  const newest = all.slice(-5).map(({ id }) => id);
  return new UsageError(
    newest.length === 0
      ? `there is no ${what} in ${from} yet`
      : `no ${what} in ${from} begins with "${item}"; the newest are: ${newest.join(", ")}`,
  );
}

function cut(text: string, most: number): string {
  const flat = text.replace(/\s+/g, " ");
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}
