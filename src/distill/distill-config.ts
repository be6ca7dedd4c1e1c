/**
 * The settings of a distillation: plain data, so that it can be written beside its result and compared on resume. Code (graders, filters of your own) comes as plugins.
 */
import { loadModule } from "../base/files/load-module.ts";
import type { Grader } from "../core/grader.ts";
import type { DistillRunOptions } from "./distill-run.ts";
import { contaminationStage } from "./stages/contamination.ts";
import {
  completenessStage,
  complexityStage,
  complianceStage,
  correctnessStage,
  redundancyStage,
} from "./stages/quality.ts";
import { lengthStage, reflectionStage } from "./stages/sampling.ts";
import type { Stage } from "./stages/stage.ts";

export interface DistillConfig extends Omit<DistillRunOptions, "countTokens"> {
  /** Fewest interactions of a chain (default 5, as in the paper). */
  minInteractions?: number;
  /** What to do where nothing can be graded by (default: drop). */
  ungraded?: "drop" | "keep";
  /** `keepWithout`: share of chains without a reflection that stay (default 0.5); those of math and code must reflect. */
  reflection?: { keepWithout?: number };
  maxTokens?: number;
  /** Chains that repeat these questions or read these addresses (or beginnings of addresses) are dropped. */
  contamination?: { questions?: string[]; blockedUrls?: readonly string[] };
  /** How many times chains that correct themselves are written (default 2; 1 = no up-sampling). */
  correctionCopies?: number;
  /** Chains at least this similar to an earlier one are dropped (default 0.95; 1.1 = never). */
  nearDuplicates?: number;
  /** Stages that are left out, by name. */
  skip?: readonly string[];
  seed?: number;
}

/** Code that takes part: as an object, or as modules that export these names. */
export interface DistillPlugins {
  grade?: Grader;
  countTokens?: (text: string) => number;
  /** Filters of your own; they come after the built-in ones. */
  filters?: readonly Stage[];
}

/** The stage that needs to see all chains. */
export const lateStage = "near-duplicate";

/** The stages that judge one chain at a time. */
export function recordStages(config: DistillConfig, plugins: DistillPlugins): Stage[] {
  const stages: Stage[] = [
    completenessStage(),
    complexityStage(config.minInteractions ?? 5),
    correctnessStage(plugins.grade, config.ungraded),
    redundancyStage(),
    complianceStage(),
    reflectionStage(config.reflection?.keepWithout, config.seed),
    ...(config.maxTokens === undefined ? [] : [lengthStage(config.maxTokens)]),
    contaminationStage(config.contamination),
    ...(plugins.filters ?? []),
  ];
  return stages.filter((stage) => !config.skip?.includes(stage.name));
}

/** Imports plugin modules and joins what they export; of single functions the last one counts. */
export async function loadPlugins(modules: readonly string[]): Promise<DistillPlugins> {
  const plugins: DistillPlugins & { filters: Stage[] } = { filters: [] };
  for (const module of modules) {
    const { filters, ...rest } = (await (module.startsWith("file:")
      ? loadModule(new URL(module))
      : import(module))) as DistillPlugins & { default?: unknown };
    for (const name of ["grade", "countTokens"] as const) {
      if (rest[name] !== undefined) Object.assign(plugins, { [name]: rest[name] });
    }
    plugins.filters.push(...(filters ?? []));
    const own = rest.default;
    if (Array.isArray(own)) plugins.filters.push(...(own as Stage[]));
    else if (own !== null && typeof own === "object" && "judge" in own) plugins.filters.push(own as Stage);
  }
  return plugins;
}
