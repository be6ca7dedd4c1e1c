/**
 * The settings of a workspace, by section. A command names the sections it reads; of a section's settings, those with a
 * `flag` can be typed, and all can be set in `coa.config.ts` or for one call by `--set section.name=value`.
 */
import type { Group, Setting } from "../setting.ts";
import { chain, limits } from "./chain.ts";
import { dataset, record } from "./data.ts";
import { distill } from "./distill.ts";
import { engine } from "./engine.ts";
import { evaluation } from "./eval.ts";
import { index, lab, newModel, up } from "./files.ts";
import { grader, judge } from "./grading.ts";
import { choose, model, spending } from "./model.ts";
import { reward } from "./reward.ts";
import { serve } from "./serve.ts";
import { server } from "./server.ts";
import { tasks } from "./tasks.ts";
import { team } from "./team.ts";
import { tools } from "./tools.ts";
import { train } from "./train.ts";
import { trainer } from "./trainer.ts";
import { workers } from "./workers.ts";

/** A section: what it is about, where its flags stand in help, its settings. */
interface SectionEntry {
  describe: string;
  group: Group;
  settings: Readonly<Record<string, Setting>>;
}

/** Every section, in the order of help and of the documentation. */
export const sections = {
  model: { describe: "The model that answers, and how it is sampled", group: "model", settings: model },
  chain: { describe: "How a chain is run", group: "model", settings: chain },
  tools: { describe: "The tools that chains and teams call", group: "tools", settings: tools },
  judge: { describe: "The model that judges answers to open questions", group: "model", settings: judge },
  grader: { describe: "How answers are graded", group: "model", settings: grader },
  choose: { describe: "Best of n: how many runs of a task, and which is chosen", group: "model", settings: choose },
  team: { describe: "The multi-agent team", group: "model", settings: team },
  record: {
    describe: "Recordings of other systems, and how much a recorded run may use",
    group: "input",
    settings: record,
  },
  distill: { describe: "How runs become chains worth learning from", group: "input", settings: distill },
  dataset: {
    describe: "How chains become examples of a dataset, and rows for other trainers",
    group: "input",
    settings: dataset,
  },
  train: { describe: "How models are trained", group: "model", settings: train },
  engine: { describe: "What trains the weights: this machine, or a Tinker server", group: "model", settings: engine },
  reward: { describe: "What a finished chain earns", group: "input", settings: reward },
  workers: { describe: "Where workers take the rollouts of a training run", group: "input", settings: workers },
  eval: { describe: "Which tasks of a benchmark are run, and how", group: "input", settings: evaluation },
  tasks: { describe: "How tasks are written and selected", group: "input", settings: tasks },
  limits: { describe: "Limits of one run", group: "limits", settings: limits },
  spending: { describe: "What model calls cost, and how much may be spent", group: "limits", settings: spending },
  serve: { describe: "How coa serve answers requests with chains", group: "output", settings: serve },
  trainer: { describe: "The training server of this machine", group: "limits", settings: trainer },
  server: { describe: "Where servers listen, who may call them, how they stop", group: "input", settings: server },
  index: { describe: "How documents are cut and indexed", group: "input", settings: index },
  up: { describe: "What coa up takes its input for, and what it keeps back", group: "input", settings: up },
  lab: { describe: "Which lab world, and which questions about it", group: "input", settings: lab },
  newModel: { describe: "The architecture of a new model", group: "model", settings: newModel },
} as const satisfies Record<string, SectionEntry>;

export type SectionName = keyof typeof sections;

type Table<S extends SectionName> = (typeof sections)[S]["settings"];

/** The values of a section, as a command gets them. */
export type Section<S extends SectionName> = {
  [K in keyof Table<S>]: Table<S>[K] extends Setting<infer T> ? T : never;
};

/** The values of the sections that a command reads. */
export type Settings<S extends SectionName> = { [Name in S]: Section<Name> };

/** A workspace's configuration: sections with what differs from the defaults. */
export type Config = { [S in SectionName]?: Partial<Section<S>> };

/** The settings of a section that differ from the defaults: what belongs to the identity of a run. */
export function changedSettings<S extends SectionName>(section: S, values: Section<S>): Partial<Section<S>> {
  const table = sections[section].settings as Record<string, Setting>;
  const changed = Object.entries(values).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(table[name]?.default),
  );
  return Object.fromEntries(changed) as Partial<Section<S>>;
}

/** The changed settings of a section as arguments of another command: by flags that it shows, else by `--set`. */
export function settingArguments<S extends SectionName>(
  section: S,
  values: Section<S>,
  shown: readonly string[],
): string[] {
  return Object.entries(changedSettings(section, values)).flatMap(([name, value]) => {
    const { flag = "", kind } = settingAt(section, name)!;
    const texts =
      kind === "pairs" ? Object.entries(value as object).map((pair) => pair.join("=")) : [value ?? []].flat();
    const path = `${section}.${name}${kind === "pairs" ? "." : "="}`;
    return texts.flatMap((text) => (shown.includes(flag) ? [`--${flag}`, String(text)] : ["--set", `${path}${text}`]));
  });
}

/** How a setting is typed: by its flag, or as `section.name`. */
export function spelling(path: string): string {
  const [section = "", name = ""] = path.split(".");
  const flag = settingAt(section, name)?.flag;
  return flag === undefined ? path : `--${flag}`;
}

/** A setting by section and name; undefined where there is none. */
export function settingAt(section: string, name: string): Setting | undefined {
  const table = Object.hasOwn(sections, section) ? sections[section as SectionName].settings : {};
  return Object.hasOwn(table, name) ? (table as Record<string, Setting>)[name] : undefined;
}
