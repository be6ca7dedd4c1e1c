/** Distillation: from team runs to chains worth learning from. Every export is named here, one by one; what is not here is not public. */

export { type DistillOptions, distill } from "./distill.ts";
export type { DistillConfig, DistillPlugins } from "./distill-config.ts";
export { type Conversion, type DistillRunOptions, distillRun } from "./distill-run.ts";
export { proposeProfile } from "./propose-profile.ts";
export { defineFilter, type Stage, type StageContext, type StageVerdict } from "./stages/stage.ts";
