/**
 * The shape of a command: one file per verb, thin: read flags, call one library function, print.
 *
 *   options  flags of this command alone: `limit: whole("Max tasks")`; `values.limit` is a number, read and checked.
 *   reads    sections of the workspace's settings (`settings/`): `reads: ["tools"]` gives `settings.tools.docs`, from
 *            the flag `--docs` if the setting has one, else `--set tools.docs=…`, else `coa.config.ts`, else its default.
 *   hides    flags of those sections that this command does not show; they are set by `--set` and in the configuration.
 *
 * A command gets at most the arguments that its `arguments` names: `<file>`, `[task]`, `<file…>` for any number. Results
 * go to stdout, everything else to stderr, colour only to a terminal; exit codes are 0, 1 and 2.
 */
import { existsSync } from "node:fs";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { type BadLine, readingWith } from "../base/files/read-jsonl.ts";
import { CoaError, UsageError } from "../core/errors.ts";
import { commandHelp, unknownFlag } from "./command-help.ts";
import { type Configured, loadConfig, meant, meantSetting, unreadFiles } from "./load-config.ts";
import type { Output } from "./output.ts";
import { inSession, type Session } from "./session.ts";
import { list, readSetting, type Setting, shortFlags, toggle } from "./setting.ts";
import { type SectionName, type Settings, sections, settingAt, spelling } from "./settings/index.ts";

/** The flags of a command by name, each a setting of this command alone. */
export type Options = Readonly<Record<string, Setting>>;

/** The value of each flag, as it was read. */
export type Values<O extends Options> = { [K in keyof O]: O[K] extends Setting<infer T> ? T : never };

export interface Invocation<O extends Options, S extends SectionName = never> {
  values: Values<O> & Values<typeof sharedOptions>;
  /** The settings of the sections that the command reads. */
  settings: Settings<S>;
  positionals: string[];
  out: Output;
  /** All commands, for those that speak of the others. */
  commands: CommandTable;
  signal: AbortSignal;
  /** For what the command opens: where notes go, when to stop, what is closed at its end. */
  session: Session;
}

/** What a command prints at its end: one JSON value with `--json`, otherwise text on stdout and notes on stderr. */
export interface Done {
  /** Or a promise of it. */
  json: unknown;
  text?: string | readonly string[];
  /** For the person at the terminal: what to do next. */
  notes?: readonly string[];
  /** 0 done (by default), 1 failed. */
  code?: number;
}

export interface Command<O extends Options = Options, S extends SectionName = SectionName> {
  summary: string;
  /** What follows the name: `<tasks.jsonl>`, `[task]`, `<file…>`. Without it, nothing may follow. */
  arguments?: string;
  examples: readonly string[];
  options: O;
  reads?: readonly S[];
  hides?: readonly string[];
  /** What it prints at its end, or its exit code where it has printed: 0 done, 1 failed, 2 wrong usage. */
  run(invocation: Invocation<O, S>): Promise<Done | number>;
}

/** Commands by name, each loaded when it is called. */
export type CommandTable = Record<string, { summary: string; load: () => Promise<{ default: Command }> }>;

/** Defines a command; the types of its values follow from `options` and `reads`. */
export function defineCommand<const O extends Options, const S extends SectionName = never>(
  command: Command<O, S>,
): Command {
  return command as unknown as Command;
}

const sharedOptions = {
  json: toggle("Print one JSON value on stdout", { group: "output" }),
  "skip-bad": toggle("Skip lines of input files that can't be read", { group: "input" }),
  help: toggle("Show this help", { group: "output" }),
} as const satisfies Options;

const setOption = list("Set any setting for this call (see the last line)", { valueName: "section.name=value" });

/** All flags of a command: those of the sections it reads, its own, and those that every command has. */
export function flagsOf(command: Pick<Command, "options" | "reads" | "hides">): Options {
  const reads = command.reads ?? [];
  const ofSections = reads.flatMap((section) => {
    const { group, settings } = sections[section];
    return Object.values(settings as Record<string, Setting>)
      .filter(({ flag }) => flag !== undefined && !command.hides?.includes(flag))
      .map((setting): [string, Setting] => [setting.flag!, { group, ...setting }]);
  });
  return {
    ...Object.fromEntries(ofSections),
    ...command.options,
    ...(reads.length > 0 && { set: setOption }),
    ...sharedOptions,
  };
}

/** The flags as Node parses them; defaults of settings are filled in later, where it is known what was typed. */
function parsed(options: Options): ParseArgsOptionsConfig {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => {
      const short = name in shortFlags && { short: shortFlags[name]! };
      const type = option.kind === "toggle" ? "boolean" : "string";
      return [name, { type, multiple: option.kind === "list" || option.kind === "pairs", ...short }];
    }),
  );
}

/** Parses the flags and runs the command. */
async function runCommand(
  name: string,
  command: Command,
  args: readonly string[],
  out: Output,
  signal: AbortSignal,
  commands: CommandTable,
): Promise<number> {
  const options = flagsOf(command);
  let typed: { values: Record<string, unknown>; positionals: string[] };
  try {
    typed = parseArgs({
      args: [...args],
      options: parsed(options),
      allowPositionals: true,
      strict: true,
      allowNegative: true,
    });
  } catch (error) {
    const flag = /^Unknown option '--(?:no-)?([^']+)'/.exec((error as Error).message)?.[1];
    if (flag !== undefined) throw unknownFlag(name, command, flag, options);
    throw new UsageError(`${(error as Error).message.split(". ")[0]}. See: coa ${name} --help`);
  }
  if (typed.values["help"]) {
    out.print(commandHelp(name, command, options));
    return 0;
  }
  const { positionals } = typed;
  checkPositionals(name, command, positionals);
  const values = Object.fromEntries(
    Object.entries(options).map(([flag, option]) => {
      const value = typed.values[flag];
      return [flag, value === undefined ? option.default : readSetting(option, value, `--${flag}`)];
    }),
  );
  const unread = name === "init" ? [] : unreadFiles();
  if (unread.length > 0) out.note(`not read: ${unread.join(", ")}. To make this folder a workspace: coa init`);
  const settings = readSettings({ ...command, name }, typed.values, await loadConfig());
  const skipped = (bad: BadLine) => out.note(`skipped ${bad.file}:${bad.line}: ${bad.message}`);
  return readingWith({ onBad: values["skip-bad"] ? skipped : "throw", onTorn: skipped }, () =>
    inSession({ note: out.note, signal }, async (session) => {
      const invocation = { values: values as never, settings, positionals, out, signal, session, commands };
      const done = await command.run(invocation).catch((error: unknown) => {
        if (!(error instanceof MissingArgument)) throw error;
        throw new UsageError(`coa ${name} needs ${error.message}. Example: ${command.examples[0]}`);
      });
      return typeof done === "number" ? done : printDone(done, out, values["json"] === true);
    }),
  );
}

async function printDone({ json, text = [], notes = [], code = 0 }: Done, out: Output, asJson: boolean) {
  out.endProgress();
  if (asJson) out.json(await json);
  else {
    for (const line of [text].flat()) out.print(line);
    for (const note of notes) out.note(note);
  }
  return code;
}

/** Refuses words that a command does not take: one that ignores a name would act on something else. */
function checkPositionals(name: string, { arguments: taken = "" }: Command, positionals: readonly string[]): void {
  const most = /…|\.\.\./.test(taken) ? Number.POSITIVE_INFINITY : (taken.match(/<[^>]*>|\[[^\]]*\]/g) ?? []).length;
  if (positionals.length <= most) return;
  const takes = most === 0 ? "no argument" : `${most === 1 ? "one argument" : `${most} arguments`} (${taken})`;
  throw new UsageError(
    `coa ${name} takes ${takes}; "${positionals[most]}" is one too many${most > 0 ? " (quote it?)" : ""}`,
  );
}

/** The longest prefix of the arguments that names a command. */
export function findCommand(args: readonly string[], commands: CommandTable): string {
  const two = args.slice(0, 2).join(" ");
  return two in commands ? two : (args[0] ?? "");
}

export async function runLine(
  args: readonly string[],
  out: Output,
  signal: AbortSignal,
  commands: CommandTable,
): Promise<number> {
  const name = findCommand(args, commands);
  const { default: command } = await commands[name]!.load();
  return runCommand(name, command, args.slice(name.split(" ").length), out, signal, commands);
}

/** A command was given too little; its name and an example are added where it is run. */
export class MissingArgument extends UsageError {}

/** The single positional argument, or a usage error that shows an example. */
export function onePositional([first]: readonly string[], what: string): string {
  if (first === undefined) throw new MissingArgument(what);
  return first;
}

/** The single positional argument as a file that is there: readers of JSONL take a missing file for an empty one. */
export function oneInputFile(positionals: readonly string[], what: string): string {
  const file = onePositional(positionals, what);
  if (!existsSync(file)) throw new UsageError(`${file} does not exist: give ${what}`);
  return file;
}

/** The files themselves, once it is sure that they are there: a mistyped name must not look like an empty file. */
export function existingFiles(files: readonly string[]): readonly string[] {
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) throw new UsageError(`there is no file ${missing}`);
  return files;
}

export function exitCodeOf(error: unknown): number {
  return error instanceof CoaError && error.boundary === "usage" ? 2 : 1;
}

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
    if (section !== "" && !values[section]?.[name])
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
