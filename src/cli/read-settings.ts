/** The settings of one call, from the places where they can stand: flag, then `--set`, then configuration, then what a preset says, then default. */
import { UsageError } from "../core/errors.ts";
import { type Configured, meant, meantSetting } from "./load-config.ts";
import { readSetting, type Setting } from "./setting.ts";
import { type SectionName, type Settings, sections, settingAt, spelling } from "./settings/index.ts";

/** The values of the sections that a command reads. A flag of the command's own takes its name from the section. */
export function readSettings<S extends SectionName>(
  command: { name: string; reads?: readonly S[]; options?: object },
  flags: Readonly<Record<string, unknown>>,
  configured: Configured,
): Settings<S> {
  const reads = command.reads ?? [];
  const all = reads.flatMap((section) =>
    Object.entries(sections[section].settings as Record<string, Setting>).map(([name, setting]) => {
      return { section, name, path: `${section}.${name}`, setting };
    }),
  );
  const given = readSets(command.name, reads, (flags["set"] ?? []) as string[]);
  for (const { path, setting } of all) {
    const { flag = "" } = setting;
    if (flags[flag] !== undefined && !Object.hasOwn(command.options ?? {}, flag))
      given[path] = readSetting(setting, flags[flag], `--${flag}`);
  }
  const replaced = all.flatMap(({ path, setting }) => (given[path] === undefined ? [] : (setting.replaces ?? [])));
  const preset: Record<string, unknown> = {};
  for (const { section, name, path, setting } of all)
    Object.assign(preset, setting.sets?.[String(given[path] ?? configured[section]?.[name])]);
  const values: Configured = Object.fromEntries(reads.map((section) => [section, {}]));
  for (const { section, name, path, setting } of all) {
    const kept = replaced.includes(path) ? undefined : configured[section]?.[name];
    values[section]![name] = given[path] ?? kept ?? preset[path] ?? setting.default;
  }
  for (const { path, setting } of all) {
    const [section = "", name = ""] = (given[path] === undefined ? "" : (setting.needs ?? "")).split(".");
    if (section !== "" && values[section]?.[name] === undefined)
      throw new UsageError(`${spelling(path)} needs ${spelling(setting.needs!)}`);
  }
  return values as Settings<S>;
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
