/** Distillations: the funnel, and each dropped record with the rule's evidence. */
import { join, relative } from "node:path";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import type { Task } from "../../core/task.ts";
import { type OutcomeRecord, readReport } from "../../distill/read-distillation.ts";
import type { DistillReport } from "../../report/distill-text.ts";
import type { Reader, StudioContext } from "./reader.ts";
import { askedFolder, stageFolders } from "./stage-folders.ts";

/** What the report of a distillation says, or what its journal says so far. */
export interface FunnelView
  extends Pick<DistillReport, "profile" | "records" | "kept" | "copies" | "tokens" | "problems"> {
  folder: string;
  /** `right`: how many of the dropped runs ended with a right answer. */
  stages: (DistillReport["stages"][number] & { right: number })[];
  right?: DistillReport["right"];
  /** The distillation is not finished: counts are those so far. */
  unfinished: boolean;
}

type Outcome = OutcomeRecord & { right: boolean };

const read = new Map<string, { stamp: string; outcomes: Promise<Outcome[]> }>();
const leniently = { onBad: () => {}, onTorn: () => {} };

/** The outcomes of a folder; read again when the file changed. */
async function outcomesOf(
  query: URLSearchParams,
  context: StudioContext,
): Promise<{ folder: string; outcomes: Outcome[] }> {
  const { folder, row } = askedFolder(query, context, "outcomes");
  const { path: file, size, mtime } = row;
  const stamp = `${size} ${mtime} ${context.catalog.isReady}`;
  let known = read.get(file);
  if (known?.stamp !== stamp) {
    known = { stamp, outcomes: readOutcomes(file, context) };
    read.set(file, known);
  }
  return { folder, outcomes: await known.outcomes };
}

/** Whether a run ended right is known from the filter that grades; of one that did not come so far, from its task's answers. */
async function readOutcomes(file: string, context: StudioContext): Promise<Outcome[]> {
  const outcomes = await readAllJsonl<OutcomeRecord>(file, undefined, leniently);
  const plain = (text: string) => text.trim().toLowerCase();
  const answers = new Map<string, string[]>();
  for (const { row } of stageFolders(context, "tasks"))
    for (const task of await readAllJsonl<Pick<Task, "id" | "answers">>(row.path, undefined, leniently))
      answers.set(task.id, task.answers.map(plain));
  return outcomes.map((one) => {
    const graded = one.decisions?.find(({ stage }) => stage === "correctness");
    const right = graded
      ? graded.kept && graded.measure !== undefined
      : answers.get(one.taskId)?.includes(plain(context.items.find("run", one.id)?.answer ?? ""));
    return { ...one, right: right === true };
  });
}

/** `GET /api/funnel?folder=…`. */
export const readFunnel: Reader = async (query, context): Promise<FunnelView> => {
  const { folder, outcomes } = await outcomesOf(query, context);
  const report = await readReport(join(context.root, folder)).catch(() => undefined);
  const kept = outcomes.filter(({ stage }) => stage === null).length;
  const soFar = { profile: "", records: outcomes.length, kept, copies: 0, stages: [], tokens: [], problems: [] };
  const said = report ?? soFar;
  const { dropped: _dropped, samples: _samples, ...shown } = said as DistillReport;
  const right = (name: string) => outcomes.filter((one) => one.right && one.stage === name).length;
  const stages = shown.stages.map((stage) => ({ ...stage, right: right(stage.name) }));
  return { ...shown, stages, folder, unfinished: report === undefined };
};

/** `GET /api/dropped?folder=…&stage=…&reason=…&offset=…`: runs with a right answer first. */
export async function readDropped(query: URLSearchParams, context: StudioContext) {
  const { outcomes } = await outcomesOf(query, context);
  const [stage, reason] = [query.get("stage"), query.get("reason")];
  const offset = Math.max(0, Number(query.get("offset") ?? 0) || 0);
  const wanted = outcomes.filter(
    (one) => one.stage !== null && (!stage || one.stage === stage) && (!reason || (one.reason ?? "unknown") === reason),
  );
  wanted.sort((a, b) => Number(b.right) - Number(a.right));
  const rows = wanted.slice(offset, offset + 100).map((one) => ({
    ...one,
    stage: one.stage!,
    reason: one.reason ?? "unknown",
    detail: one.detail?.slice(0, 2_000),
    decisions: one.decisions ?? [],
    question: context.items.find("run", one.id)?.question ?? "",
    place: `${relative(context.root, one.file) || one.file}:${one.line}`,
  }));
  return { rows, total: wanted.length };
}

/** A page of records that were dropped, with what the filters saw. */
export type DroppedPage = Awaited<ReturnType<typeof readDropped>>;
