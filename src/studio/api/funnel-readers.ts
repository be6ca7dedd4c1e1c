/** Distillations: the funnel, and each dropped record with the rule's evidence. */
import { join, relative } from "node:path";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { type OutcomeRecord, readReport } from "../../distill/read-distillation.ts";
import type { DistillReport } from "../../report/distill-text.ts";
import type { Reader, StudioContext } from "./reader.ts";
import { askedFolder } from "./stage-folders.ts";

/** What the report of a distillation says, or what its journal says so far. */
export interface FunnelView
  extends Pick<DistillReport, "profile" | "records" | "kept" | "copies" | "stages" | "tokens" | "problems"> {
  folder: string;
  right?: DistillReport["right"];
  /** The distillation is not finished: counts are those so far. */
  unfinished: boolean;
}

const read = new Map<string, { stamp: string; outcomes: Promise<OutcomeRecord[]> }>();

/** The outcomes of a folder; read again when the file changed. */
async function outcomesOf(
  query: URLSearchParams,
  context: StudioContext,
): Promise<{ folder: string; outcomes: OutcomeRecord[] }> {
  const { folder, row } = askedFolder(query, context, "outcomes");
  const { path: file, size, mtime } = row;
  const stamp = `${size} ${mtime}`;
  let known = read.get(file);
  if (known?.stamp !== stamp) {
    known = { stamp, outcomes: readAllJsonl<OutcomeRecord>(file, undefined, { onBad: () => {}, onTorn: () => {} }) };
    read.set(file, known);
  }
  return { folder, outcomes: await known.outcomes };
}

/** `GET /api/funnel?folder=…`. */
export const readFunnel: Reader = async (query, context): Promise<FunnelView> => {
  const { folder, outcomes } = await outcomesOf(query, context);
  const report = await readReport(join(context.root, folder)).catch(() => undefined);
  const kept = outcomes.filter(({ stage }) => stage === null).length;
  const soFar = { profile: "", records: outcomes.length, kept, copies: 0, tokens: [], problems: [] };
  const said = report ?? { ...soFar, stages: stagesSoFar(outcomes) };
  const { dropped: _dropped, samples: _samples, ...shown } = said as DistillReport;
  return { ...shown, folder, unfinished: report === undefined };
};

/** Stages of a distillation without a report: counted from the journal, in the order the filters decide. */
function stagesSoFar(outcomes: readonly OutcomeRecord[]): DistillReport["stages"] {
  const names = new Set(
    outcomes.flatMap(({ decisions = [], stage }) => [...decisions.map((one) => one.stage), stage ?? ""]),
  );
  names.delete("");
  let entered = outcomes.length;
  return [...names].map((name) => {
    const here = outcomes.filter(({ stage }) => stage === name);
    const reasons: Record<string, number> = {};
    for (const { reason = "unknown" } of here) reasons[reason] = (reasons[reason] ?? 0) + 1;
    const stage = { name, entered, dropped: here.length, reasons };
    entered -= here.length;
    return stage;
  });
}

/** `GET /api/dropped?folder=…&stage=…&reason=…&offset=…`. */
export async function readDropped(query: URLSearchParams, context: StudioContext) {
  const { outcomes } = await outcomesOf(query, context);
  const [stage, reason] = [query.get("stage"), query.get("reason")];
  const offset = Math.max(0, Number(query.get("offset") ?? 0) || 0);
  const wanted = outcomes.filter(
    (one) => one.stage !== null && (!stage || one.stage === stage) && (!reason || (one.reason ?? "unknown") === reason),
  );
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
