/** Everything that can be shown, by kind; a view is loaded when it is wanted. */
import type { View } from "./shown.ts";

const others = () => import("./show-others.ts");
const records = () => import("./show-records.ts");

/** How each kind of thing is shown. */
export const views = {
  workspace: async () => (await import("./show-workspace.ts")).showWorkspace,
  dataset: async () => (await import("./show-dataset.ts")).showDataset,
  distillation: async () => (await import("./show-distillation.ts")).showDistillation,
  evaluation: async () => (await import("./show-evaluation.ts")).showEvaluation,
  training: async () => (await import("./show-training.ts")).showTraining,
  model: async () => (await import("./show-model.ts")).showModel,
  recordings: async () => (await records()).showRecordings,
  records: async () => (await records()).showRecords,
  index: async () => (await others()).showIndex,
  world: async () => (await others()).showWorld,
  tasks: async () => (await others()).showTasks,
  lines: async () => (await others()).showLines,
  profile: async () => (await others()).showProfile,
  benchmarks: async () => (await others()).showBenchmarks,
} satisfies Record<string, () => Promise<View>>;
