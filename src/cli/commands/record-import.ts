import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import { UsageError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { priceOf } from "../../core/usage.ts";
import { importFormats } from "../../record/import-file.ts";
import { priceRun, type RunSummary, runTree, summariseRun } from "../../record/run-summary.ts";
import { refusedForTraining } from "../../record/trainable.ts";
import { defineCommand, existingFiles } from "../command.ts";
import { text, toggle } from "../setting.ts";
import { pricesOf } from "../spending.ts";
import { importTraces } from "../trace-files.ts";
import { recordingsFolder } from "./record-options.ts";

export default defineCommand({
  summary: `Turn recordings, or files of other systems, into team runs: ${Object.keys(importFormats).join(", ")}. Several files may hold parts of one trace; without a file, the workspace's recordings.`,
  arguments: "[file or folder…]",
  examples: [
    "coa record import --out runs.jsonl",
    "coa record import trace.json --out runs.jsonl",
    "coa record import langsmith-*.json --json",
    "coa record import run.jsonl --format oagents --out runs.jsonl",
  ],
  options: {
    format: text("Format of the files (default: recognised)", { valueName: "name" }),
    out: text("Append the runs that it does not hold yet to this JSONL file", { valueName: "file", group: "output" }),
    replace: toggle("Replace the file of --out instead of appending to it", { group: "output" }),
  },
  reads: ["record", "spending"],
  hides: ["max-usd"],
  async run({ values, settings, positionals, out }) {
    const paths = positionals.length > 0 ? positionals : [await recordingsFolder(settings.record.folder)];
    existingFiles(paths);
    const { runs, unreadable } = importTraces(paths, { format: values.format, onNote: out.note });
    const prices = pricesOf(settings.spending.price);
    const summaries: RunSummary[] = [];
    const few: TeamRun[] = [];
    const unpriced = new Set<string>();
    let [count, refused] = [0, 0];
    async function* priced(): AsyncGenerator<TeamRun> {
      for await (const found of runs) {
        const run = priceRun(found, prices);
        if (Object.keys(prices).length > 0)
          for (const { model = "" } of run.steps)
            if (!priceOf(prices, model)) unpriced.add(model || "an unnamed model");
        if (refusedForTraining(run) !== null) refused++;
        if (values.json) summaries.push(summariseRun(run));
        // Into a file: `coa show` draws them.
        else if (!values.out) out.print(`${runTree(run, out.width)}\n`);
        else if (few.length < 4) few.push(run);
        count++;
        yield run;
      }
    }
    if (values.out) await addRuns(values.out, priced(), values.replace);
    else for await (const _run of priced());
    if (count === 0 && positionals.length === 0)
      throw new UsageError(`there are no recordings in ${paths[0]} yet. Record with: coa record proxy --to <server>`);
    if (unpriced.size > 0) out.note(`no price for ${[...unpriced].join(", ")}: counted as 0`);
    for (const { file, reason } of unreadable) out.note(`not a trace: ${file}: ${reason}`);
    const written = values.out ? `, written to ${values.out}` : "";
    return {
      json: summaries,
      text: [
        ...(count <= 3 ? few.map((run) => `${runTree(run, out.width)}\n`) : []),
        `${count} runs, ${refused} of them not for training${written}`,
      ],
      notes:
        values.out && count > 0 ? [`next: coa tasks recorded ${values.out}, or coa up ${values.out} --dry-run`] : [],
      code: count > 0 ? 0 : 1,
    };
  },
});

/** Adds runs to a file, each once: one that it holds is left as it is, one that has grown since takes its place. */
async function addRuns(file: string, runs: AsyncIterable<TeamRun>, replace: boolean): Promise<void> {
  const lineOf = (run: TeamRun) => `${JSON.stringify(run)}\n`;
  const lines = async function* (from: AsyncIterable<TeamRun>) {
    for await (const run of from) yield lineOf(run);
  };
  if (replace) return writeFileAtomically(file, lines(runs));
  const written = new Map<string, string>();
  const grown = new Map<string, string>();
  for await (const run of readJsonl<TeamRun>(file)) written.set(identityOf(run), fingerprint(lineOf(run)));
  const writer = await openJsonl<TeamRun>(file);
  for await (const run of runs) {
    const [identity, content] = [identityOf(run), fingerprint(lineOf(run))];
    const before = written.get(identity);
    if (before === content) continue;
    if (before !== undefined) grown.set(identity, content);
    written.set(identity, content);
    await writer.append(run);
  }
  await writer.close();
  if (grown.size === 0) return;
  const isLatest = (run: TeamRun) => [undefined, fingerprint(lineOf(run))].includes(grown.get(identityOf(run)));
  await writeFileAtomically(
    file,
    (async function* () {
      for await (const run of readJsonl<TeamRun>(file)) if (isLatest(run)) yield lineOf(run);
    })(),
  );
}

/** What stays the same while a run grows: its id (of a conversation, without the turn), when it began and what was asked. */
function identityOf(run: TeamRun): string {
  const startedAt = run.steps[0]?.startedAt ?? 0;
  // Without a time of its own, a run of another file may have the same name.
  if (startedAt < 1e11) return fingerprint(JSON.stringify({ ...run, steps: run.steps.map(({ costUsd: _cost, ...step }) => step), usage: 0 })); // biome-ignore format: one key
  return `${run.session ?? run.id} ${startedAt} ${fingerprint(run.question)}`;
}
