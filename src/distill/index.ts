/** Distillation: from team runs to chains worth learning from. Every export is named here, one by one; what is not here is not public. */

export { type DistillOptions, distill } from "./distill.ts";
export type { DistillConfig, DistillPlugins } from "./distill-config.ts";
export { type Conversion, type ConversionFailure, type DistillRunOptions, distillRun } from "./distill-run.ts";
export { type ProposedProfile, proposeProfile } from "./propose-profile.ts";
export type { ContaminationOptions } from "./stages/contamination.ts";
export type { ReflectionOptions } from "./stages/sampling.ts";
export { defineFilter, type Stage, type StageContext, type StageVerdict } from "./stages/stage.ts";
