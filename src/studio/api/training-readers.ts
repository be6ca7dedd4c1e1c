/** Training runs: where their figures of each step are, what was sampled in a step, and one task through all steps. */
import { join } from "node:path";
import { workState } from "../../base/files/claim-folder.ts";
import { readManifest } from "../../base/files/manifest.ts";
import type { FileKind } from "../../base/files/record-kind.ts";
import type { RolloutFigures } from "../../core/chain-marks.ts";
import { parseJson } from "../../core/json-value.ts";
import type { FileRow } from "./catalog-database.ts";
import type { CatalogRow } from "./catalog-row.ts";
import { readRange } from "./open-catalog.ts";
import type { StudioContext } from "./reader.ts";
import { askedFolder, stageFolders } from "./stage-folders.ts";

/** `GET /api/trainings`, the one that was written to last at the end. */
export const readTrainings = (_query: URLSearchParams, context: StudioContext) =>
  Promise.all(
    stageFolders(context, "metrics").map(async ({ folder, file: metrics, row }) => {
      const path = join(context.root, folder);
      const manifest = await readManifest(path).catch(() => undefined);
      const { stage, steps } = manifest?.configuration ?? {};
      const { done, total = typeof steps === "number" ? steps : undefined } = manifest?.progress ?? {};
      const state = manifest && (await workState(path, manifest.progress));
      return {
        folder,
        /** The file of figures, one line a step. */
        metrics,
        /** When the last figures were written, in milliseconds since 1970. */
        lastAt: row.mtime,
        /** `sft`, `rl`, `opd`, where the manifest says so. */
        ...(typeof stage === "string" && { stage }),
        /** `stopped`: its process is gone and wrote no end. */
        state,
        done,
        total,
      };
    }),
  ).then((all) => all.sort((a, b) => a.lastAt - b.lastAt));

/** A training run as a list names it. */
export type TrainingView = Awaited<ReturnType<typeof readTrainings>>[number];

const mostRollouts = 4_096;

/** `GET /api/rollouts?folder=…&step=…`, or `&task=…` for one task through the steps. */
export function readStepRollouts(query: URLSearchParams, context: StudioContext) {
  const { folder } = askedFolder(query, context, "metrics");
  const beside = (kind: FileKind) => stageFolders(context, kind).find((one) => one.folder === folder);
  const rollouts = beside("rollouts");
  if (!rollouts) return { groups: [], file: undefined, more: 0 };
  const task = query.get("task");
  const rows = context.catalog.database
    .prepare(
      `SELECT * FROM item WHERE file = ? AND ${task === null ? "step" : "taskId"} = ? ORDER BY step, id LIMIT ${mostRollouts + 1}`,
    )
    .all(rollouts.row.id, task ?? Number(query.get("step"))) as unknown as Row[];
  const shown = rows.slice(0, mostRollouts);
  const figures = rolloutFigures(beside("figures")?.row, new Set(shown.map(({ rollout }) => rollout)));
  const groups = [...Map.groupBy(shown, ({ step, taskId }) => JSON.stringify([step, taskId])).values()].map((own) =>
    groupOf(own, figures),
  );
  /** `more` are rollouts that are not shown. */
  return { groups, file: rollouts.file, more: rows.length - shown.length };
}

/** What was sampled in one step, task by task; or for one task, step by step. */
export type StepRollouts = ReturnType<typeof readStepRollouts>;

type Row = Omit<CatalogRow, "step"> & { step: number };

/** The answers to one task in one step: they are compared with each other. */
export type RolloutGroup = ReturnType<typeof groupOf>;

/** One answer to a task, with what the update did with it where that is known. */
export type RolloutView = RolloutGroup["rollouts"][number];

function groupOf(own: readonly Row[], figures: ReadonlyMap<string, RolloutFigures>) {
  const { taskId, question, step } = own[0]!;
  const known = own.flatMap(({ rollout }) => figures.get(rollout) ?? []);
  const baseline = known.find((one) => one.baseline !== undefined)?.baseline;
  const dropped = known.length > 0 && known.every(({ kept }) => !kept) ? known[0]!.dropped : undefined;
  return {
    /** As rollouts are numbered: from 0, when the step began. */
    step,
    task: taskId,
    question,
    baseline,
    /** Why no update used it: `all-right`, `all-wrong`… */
    dropped,
    rollouts: own.map(({ key, reward, ending, billed, rollout }) => {
      const { advantage, clippedTokens } = figures.get(rollout) ?? {};
      return { key, reward, ending, billed, advantage, clippedTokens };
    }),
  };
}

/** The figures of these rollouts, by their name; those that no update has seen yet are absent. */
export function rolloutFigures(file: FileRow | undefined, wanted: ReadonlySet<string>): Map<string, RolloutFigures> {
  const found = new Map<string, RolloutFigures>();
  if (!file || wanted.size === 0) return found;
  for (const line of readRange(file.path, 0, file.size).toString("utf8").split("\n")) {
    const name = /"rollout":"([^"]+)"/.exec(line)?.[1];
    if (name === undefined || !wanted.has(name)) continue;
    // One that can't be read is being written: the next look has it.
    const figures = parseJson(line);
    if (figures !== undefined) found.set(name, figures as RolloutFigures);
  }
  return found;
}
