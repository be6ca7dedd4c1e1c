/** Training runs: where their figures of each step are, and what was sampled in a step. */
import { statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { readManifest } from "../../base/files/manifest.ts";
import { NotFound, type Reader, type StudioContext } from "./reader.ts";

/** A training run as a list names it. */
export interface TrainingView {
  folder: string;
  /** The file of figures, one line a step. */
  metrics: string;
  /** `sft`, `rl`, `opd`, where the manifest says so. */
  stage?: string;
  state?: "running" | "done" | "failed";
  done?: number;
  total?: number;
}

/** What was sampled in one step, task by task. */
export interface StepRollouts {
  step: number;
  groups: {
    task: string;
    question: string;
    rollouts: { key: string; reward: number | null; ending: string; tokens: number }[];
  }[];
  file?: string;
}

function metricsFiles({ index, root }: StudioContext): { folder: string; metrics: string }[] {
  return index
    .files()
    .filter(({ kind }) => kind === "metrics")
    .map(({ path }) => ({ folder: relative(root, dirname(path)) || ".", metrics: relative(root, path) }));
}

/** `GET /api/trainings`. */
export const readTrainings: Reader = (_query, context): Promise<TrainingView[]> =>
  Promise.all(
    metricsFiles(context).map(async (one): Promise<TrainingView> => {
      const manifest = await readManifest(join(context.root, one.folder)).catch(() => undefined);
      const { stage, steps } = manifest?.configuration ?? {};
      const { state, done, total = typeof steps === "number" ? steps : undefined } = manifest?.progress ?? {};
      const ended = state === "running" && hasResult(join(context.root, one.folder), join(context.root, one.metrics));
      return { ...one, ...(typeof stage === "string" && { stage }), state: ended ? "done" : state, done, total };
    }),
  );

/** Whether a model was written after the last figures: a run does so at its end. */
function hasResult(folder: string, metrics: string): boolean {
  const written = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return written(join(folder, "model", "config.json")) > written(metrics);
}

/** `GET /api/rollouts?folder=…&step=…`. */
export const readStepRollouts: Reader = (query, context): StepRollouts => {
  const folder = query.get("folder") ?? "";
  if (!metricsFiles(context).some((one) => one.folder === folder)) throw new NotFound(`no training is in "${folder}"`);
  const step = Number(query.get("step"));
  const file = context.index
    .files()
    .find(({ path, kind }) => kind === "rollouts" && dirname(path) === join(context.root, folder));
  if (!file) return { step, groups: [] };
  const rows = context.index.database
    .prepare(
      "SELECT key, taskId, question, reward, ending, billed FROM item WHERE file = ? AND step = ? ORDER BY id LIMIT 4096",
    )
    .all(file.id, step) as unknown as {
    key: string;
    taskId: string;
    question: string;
    reward: number | null;
    ending: string;
    billed: number;
  }[];
  const groups = [...Map.groupBy(rows, ({ taskId }) => taskId)].map(([task, own]) => ({
    task,
    question: own[0]!.question,
    rollouts: own.map(({ key, reward, ending, billed }) => ({ key, reward, ending, tokens: billed })),
  }));
  return { step, groups, file: relative(context.root, file.path) };
};
