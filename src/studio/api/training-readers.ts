/** Training runs: where their figures of each step are, what was sampled in a step, and one task through all steps. */
import { dirname, join, relative } from "node:path";
import { readManifest } from "../../base/files/manifest.ts";
import { type WorkState, workState } from "../../base/files/work-state.ts";
import type { RolloutFigures } from "../../core/chain-marks.ts";
import { NotFound, type Reader, type StudioContext } from "./reader.ts";
import { rolloutFigures } from "./rollout-figures.ts";

/** A training run as a list names it. */
export interface TrainingView {
  folder: string;
  /** The file of figures, one line a step. */
  metrics: string;
  /** `sft`, `rl`, `opd`, where the manifest says so. */
  stage?: string;
  /** `stopped`: its process is gone and wrote no end. */
  state?: WorkState;
  /** When the last figures were written, in milliseconds since 1970. */
  lastAt: number;
  done?: number;
  total?: number;
}

/** One answer to a task, with what the update did with it where that is known. */
export interface RolloutView {
  key: string;
  reward: number | null;
  ending: string;
  tokens: number;
  advantage?: number;
  clippedTokens?: number;
}

/** The answers to one task in one step: they are compared with each other. */
export interface RolloutGroup {
  /** As rollouts are numbered: from 0, when the step began. */
  step: number;
  task: string;
  question: string;
  rollouts: RolloutView[];
  baseline?: number;
  /** Why no update used it: `all-right`, `all-wrong`… */
  dropped?: string;
}

/** What was sampled in one step, task by task; or for one task, step by step. */
export interface StepRollouts {
  groups: RolloutGroup[];
  file?: string;
  /** Rollouts that are not shown. */
  more: number;
}

function metricsFiles({ index, root }: StudioContext): { folder: string; metrics: string; lastAt: number }[] {
  return index
    .files()
    .filter(({ kind }) => kind === "metrics")
    .sort((a, b) => a.mtime - b.mtime)
    .map(({ path, mtime: lastAt }) => {
      return { folder: relative(root, dirname(path)) || ".", metrics: relative(root, path), lastAt };
    });
}

/** `GET /api/trainings`, the one that was written to last at the end. */
export const readTrainings: Reader = (_query, context): Promise<TrainingView[]> =>
  Promise.all(
    metricsFiles(context).map(async (one): Promise<TrainingView> => {
      const folder = join(context.root, one.folder);
      const manifest = await readManifest(folder).catch(() => undefined);
      const { stage, steps } = manifest?.configuration ?? {};
      const { done, total = typeof steps === "number" ? steps : undefined } = manifest?.progress ?? {};
      const state = manifest && (await workState(folder, manifest.progress));
      return { ...one, ...(typeof stage === "string" && { stage }), state, done, total };
    }),
  );

const mostRollouts = 4_096;

/** `GET /api/rollouts?folder=…&step=…`, or `&task=…` for one task through the steps. */
export const readStepRollouts: Reader = (query, context): StepRollouts => {
  const folder = query.get("folder") ?? "";
  if (!metricsFiles(context).some((one) => one.folder === folder)) throw new NotFound(`no training is in "${folder}"`);
  const beside = (wanted: string) =>
    context.index.files().find(({ path, kind }) => kind === wanted && dirname(path) === join(context.root, folder));
  const file = beside("rollouts");
  if (!file) return { groups: [], more: 0 };
  const task = query.get("task");
  const rows = context.index.database
    .prepare(
      `SELECT key, taskId, question, reward, ending, billed, step, rollout FROM item
       WHERE file = ? AND ${task === null ? "step" : "taskId"} = ? ORDER BY step, id LIMIT ${mostRollouts + 1}`,
    )
    .all(file.id, task ?? Number(query.get("step"))) as unknown as Row[];
  const shown = rows.slice(0, mostRollouts);
  const figures = rolloutFigures(beside("figures"), new Set(shown.map(({ rollout }) => rollout)));
  const groups = [...Map.groupBy(shown, ({ step, taskId }) => JSON.stringify([step, taskId])).values()].map((own) =>
    groupOf(own, figures),
  );
  return { groups, file: relative(context.root, file.path), more: rows.length - shown.length };
};

interface Row {
  key: string;
  taskId: string;
  question: string;
  reward: number | null;
  ending: string;
  billed: number;
  step: number;
  rollout: string;
}

type Figures = Map<string, RolloutFigures>; // [rollout]

function groupOf(own: readonly Row[], figures: Figures): RolloutGroup {
  const { taskId, question, step } = own[0]!;
  const known = own.flatMap(({ rollout }) => figures.get(rollout) ?? []);
  const baseline = known.find((one) => one.baseline !== undefined)?.baseline;
  const dropped = known.length > 0 && known.every(({ kept }) => !kept) ? known[0]!.dropped : undefined;
  return {
    step,
    task: taskId,
    question,
    ...(baseline !== undefined && { baseline }),
    ...(dropped !== undefined && { dropped }),
    rollouts: own.map(({ key, reward, ending, billed, rollout }) => {
      const { advantage, clippedTokens } = figures.get(rollout) ?? {};
      return { key, reward, ending, tokens: billed, advantage, clippedTokens };
    }),
  };
}
