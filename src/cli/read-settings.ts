/** The settings of one call, from the four places where they can stand: flag, then `--set`, then configuration, then default. */
import { UsageError } from "../core/errors.ts";
import { type Configured, meant, meantSetting } from "./load-config.ts";
import { readSetting, type Setting } from "./setting.ts";
import { type SectionName, sections, settingAt } from "./settings/index.ts";

/** The values of the sections that a command reads. */
export function readSettings(
  command: { name: string; reads?: readonly SectionName[] },
  flags: Readonly<Record<string, unknown>>,
  configured: Configured,
): Record<string, Record<string, unknown>> {
  const reads = command.reads ?? [];
  const set = readSets(command.name, reads, (flags["set"] ?? []) as string[]);
  return Object.fromEntries(
    reads.map((section) => [
      section,
      Object.fromEntries(
        Object.entries(sections[section].settings as Record<string, Setting>).map(([name, setting]) => {
          const typed = setting.flag === undefined ? undefined : flags[setting.flag];
          if (typed !== undefined) return [name, readSetting(setting, typed, `--${setting.flag}`)];
          return [name, set[`${section}.${name}`] ?? configured[section]?.[name] ?? setting.default];
        }),
      ),
    ]),
  );
}

/** What `--set` gives, by path: lists and pairs add up, other settings take the last value. */
function readSets(command: string, reads: readonly SectionName[], given: readonly string[]): Record<string, unknown> {
  const raw = new Map<string, { setting: Setting; values: string[] }>();
  for (const text of given) {
    const [, path = "", section = "", name = "", key, value = "true"] =
      /^(([^.=]*)(?:\.([^.=]*))?(?:\.([^=]*))?)(?:=(.*))?$/s.exec(text)!;
    if (!Object.hasOwn(sections, section))
      throw new UsageError(`--set ${path}: there is no section "${section}"${meant(section, Object.keys(sections))}`);
    const setting = settingAt(section, name);
    if (!setting) throw new UsageError(`--set ${path}: there is no setting "${name}"${meantSetting(section, name)}`);
    if (!reads.includes(section as SectionName))
      throw new UsageError(`coa ${command} does not read ${section} settings; it reads ${reads.join(", ")}`);
    const at = `${section}.${name}`;
    const known = raw.get(at) ?? { setting, values: [] };
    known.values.push(key === undefined ? value : `${key}=${value}`);
    raw.set(at, known);
  }
  return Object.fromEntries(
    [...raw].map(([path, { setting, values }]) => {
      const several = setting.kind === "list" || setting.kind === "pairs";
      return [path, readSetting(setting, several ? values : values.at(-1), `--set ${path}`)];
    }),
  );
}
