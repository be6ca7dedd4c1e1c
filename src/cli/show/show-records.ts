/** Team runs and chains, of a file, of recordings or of a training: a line for each, or one of them whole. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { readAllJsonl, readJsonl } from "../../base/files/read-jsonl.ts";
import { type FoundRecord, recordIn } from "../../base/files/record-kind.ts";
import { UsageError } from "../../core/errors.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { type ServedReport, servedReport } from "../../evaluate/served-report.ts";
import { openRunIndex, type RunIndex } from "../../record/recordings/run-index.ts";
import { runTree, summariseRun } from "../../record/run-summary.ts";
import { readUnrecorded, unrecordedText } from "../../record/unrecorded.ts";
import type { Metrics } from "../../train/run-folder.ts";
import { plotMetrics, table } from "../output.ts";
import { chainText } from "../render-chain.ts";
import type { Asked, Shown, View } from "./shown.ts";

/** Shows a folder of recordings; an item is a run, by how its id begins. */
export const showRecordings: View = async (folder, asked) => {
  const notes: string[] = [];
  const index = await openRunIndex(folder, { onNote: (note) => notes.push(note) });
  const missed = await readUnrecorded(folder);
  const bare = await index.bareTraces();
  if (bare > 0)
    notes.push(`${bare} traces hold no model call: instrument the client of the model too, or record it with a proxy`);
  if (missed.length > 0) notes.push(unrecordedText(missed));
  return runsShown(index, folder, asked, notes);
};

/** Shows a file of team runs or chains, bare or inside rollouts. */
export const showRecords: View = async (file, asked) => recordsShown(() => readJsonl(file), file, asked);

/** Shows records, which are read as often as they are needed. */
async function recordsShown(read: () => AsyncIterable<unknown>, from: string, asked: Asked): Promise<Shown> {
  async function* found(): AsyncGenerator<FoundRecord> {
    for await (const value of read()) {
      const one = recordIn(value);
      if (one) yield one;
    }
  }
  for await (const { kind } of found()) if (kind === "run") return runsShown(runsOf(found), from, asked);
  const chains = await Array.fromAsync(found());
  return chainsShown(
    chains.flatMap(({ kind, around, ...one }) =>
      kind === "chain" && "chain" in one ? [{ chain: trajectorySchema.parse(one.chain), reward: around?.reward }] : [],
    ),
    from,
    asked,
  );
}

type RunsToShow = Omit<RunIndex, "close" | "bareTraces">;

/** Runs that stand in a file one after another. */
function runsOf(found: () => AsyncIterable<FoundRecord>): RunsToShow {
  async function* runs() {
    for await (const one of found()) if (one.kind === "run") yield teamRunSchema.parse(one.run);
  }
  return {
    runs,
    async *summaries() {
      for await (const run of runs()) yield summariseRun(run);
    },
    async find(item) {
      const fitting: TeamRun[] = [];
      for await (const run of runs()) if (run.id.startsWith(item) || run.taskId === item) fitting.push(run);
      return fitting;
    },
    async newest(count) {
      const ids: string[] = [];
      for await (const { id } of runs()) if (ids.push(id) > count) ids.shift();
      return ids.reverse();
    },
  };
}

async function runsShown(
  runs: RunsToShow,
  from: string,
  { item, out }: Pick<Asked, "item" | "out">,
  notes: readonly string[] = [],
): Promise<Shown> {
  if (item !== undefined) {
    const found = await runs.find(item);
    if (found.length === 0) throw noneOf(from, "run", item, (await runs.newest(5)).reverse());
    return {
      json: found.map(summariseRun),
      text: found.map((run) => runTree(run, out.width)).join("\n\n"),
      records: each(found),
      notes,
    };
  }
  const reasons = new Map<string, number>();
  let [count, shaped, trainable, priced] = [0, 0, 0, false];
  const all: string[][] = [];
  for await (const run of runs.summaries()) {
    count++;
    if (run.completeness.inferred?.includes("run")) shaped++;
    if (run.refused === null) trainable++;
    if (run.costUsd > 0) priced = true;
    for (const reason of run.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    all.push([
      cut(run.id, 24),
      String(run.agents.length),
      String(run.modelCalls),
      String(run.toolCalls),
      String(run.tokens.billed),
      run.refused === null ? "yes" : `no: ${run.reasons.join(", ")}`,
      `$${run.costUsd.toFixed(6)}`,
      cut(run.question, 50),
    ]);
  }
  const get = { records: runs.runs, get json() { return Array.fromAsync(runs.summaries()); } }; // biome-ignore format: one line
  if (count === 0)
    return Object.assign(get, {
      text: "",
      notes: [...notes, `no runs in ${from} yet. Record with: coa record proxy --to <server>`],
    });
  const head = ["run", "agents", "calls", "tools", "tokens", "trainable", "cost", "question"];
  const rows = [head, ...all].map((row) => (priced ? row : row.toSpliced(6, 1)));
  const why = [...reasons].map(([reason, times]) => `${reason} ${times}`).join(", ");
  return Object.assign(get, {
    text: table(rows, ["left", "right", "right", "right", "right"]),
    notes: [
      ...notes,
      ...(shaped > 0 ? [`${shaped} of ${count} runs were put together from what was said: no run id was given`] : []),
      `${trainable} of ${count} runs may be trained on${why ? `; not: ${why}` : ""}`,
    ],
  });
}

function chainsShown(
  all: readonly { chain: Trajectory; reward?: number }[],
  from: string,
  { item, out }: Pick<Asked, "item" | "out">,
): Shown {
  const chains = all.map(({ chain }) => chain);
  if (item !== undefined) {
    const found = chains.filter((chain) => chain.id.startsWith(item) || chain.taskId === item);
    if (found.length === 0) throw noneOf(from, "chain", item, chains.slice(-5).map(({ id }) => id)); // biome-ignore format: one line
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

function noneOf(from: string, what: string, item: string, newest: readonly string[]): UsageError {
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

/** Agreement, time, tokens, the first disagreements, fallbacks by reason. */
function servedText({ chains, answered, shadow, fallback }: ServedReport): string {
  const share = (value: number) => `${(100 * value).toFixed(1)} %`;
  const lines = [`${chains} chains, ${answered} with an answer of their own`];
  if (shadow.compared + shadow.unknown > 0) {
    const { value, low, high } = shadow.agreement;
    lines.push(
      `agreement with the old system: ${share(value)} (95 % interval ${share(low)} to ${share(high)}) of ${shadow.compared} compared, ${shadow.unknown} not decided`,
      `seconds to the answer (mean): old ${shadow.oldSeconds.toFixed(2)}, chain ${shadow.chainSeconds.toFixed(2)}; tokens: old ${Math.round(shadow.oldTokens)}, chain ${Math.round(shadow.chainTokens)}`,
      ...shadow.disagreements.map(
        ({ question, old, chain }) => `\n  ${question}\n    old:   ${old}\n    chain: ${chain ?? "no answer"}`,
      ),
    );
  }
  if (fallback.asked > 0) {
    const reasons = Object.entries(fallback.reasons).map(([reason, count]) => `${reason} ${count}`);
    lines.push(`passed on to the old system: ${fallback.asked} (${reasons.join(", ")}), ${fallback.failed} failed`);
  }
  return lines.join("\n");
}

/** Shows a training's folder; an item is one of its rollouts. */
export const showTraining: View = async (folder, asked) => {
  const records = rolloutsOf(folder);
  if (asked.item !== undefined || asked.all) {
    if (!records) throw new UsageError(`${folder} has no rollouts: it is not a run of coa train rl or opd`);
    const shown = await recordsShown(records, folder, asked);
    return asked.item === undefined ? { ...shown, records } : shown;
  }
  const file = join(folder, "metrics.jsonl");
  if (!existsSync(file)) throw new UsageError(`${folder} has no metrics.jsonl: nothing was trained in it yet`);
  const metrics = await readAllJsonl<Metrics>(file);
  const head = ["figure", "first", `steps ${metrics[0]?.step ?? 0} to ${metrics.at(-1)?.step ?? 0}`, "last"];
  return {
    json: metrics,
    text: table([head, ...plotMetrics(metrics)], ["left", "right", "left", "right"]),
    ...(records && { records }),
  };
};

/** A training: the curves of its figures in the terminal, or its rollouts. */
function rolloutsOf(folder: string): (() => AsyncIterable<unknown>) | undefined {
  const file = join(folder, "rollouts.jsonl");
  return existsSync(file) ? () => readJsonl(file) : undefined;
}
