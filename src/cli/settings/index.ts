/**
 * The settings of a workspace, by section. A command names the sections it reads; of a section's settings, those with a
 * `flag` can be typed, and all can be set in `coa.config.ts` or for one call by `--set section.name=value`.
 */
import type { Group, Setting } from "../setting.ts";
import { serve } from "./serve.ts";

/** A section: what it is about, where its flags stand in help, its settings. */
interface SectionEntry {
  describe: string;
  group: Group;
  settings: Readonly<Record<string, Setting>>;
}

/** Every section, in the order of help and of the documentation. */
export const sections = {
  serve: { describe: "Where servers listen, who may call them, how they stop", group: "input", settings: serve },
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

/** A setting by section and name; undefined where there is none. */
export function settingAt(section: string, name: string): Setting | undefined {
  const table = Object.hasOwn(sections, section) ? sections[section as SectionName].settings : {};
  return Object.hasOwn(table, name) ? (table as Record<string, Setting>)[name] : undefined;
}
