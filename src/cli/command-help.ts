/** Help of one command, and what was probably meant by a flag that it does not have. */
import { nearestName } from "../base/work/check-options.ts";
import { UsageError } from "../core/errors.ts";
import type { Command, Options } from "./command.ts";
import { commands, stages } from "./commands/index.ts";
import { groups, type Setting, shortFlags } from "./setting.ts";
import { type SectionName, sections, settingAt } from "./settings/index.ts";

/** Help of one command: what it does, its flags in groups, examples, where its other settings are listed. */
export function commandHelp(name: string, command: Command, options: Options): string {
  const rows = Object.entries(options).map(([flag, option]) => ({
    group: option.group ?? "input",
    ...row(flag, option),
  }));
  const width = Math.min(34, Math.max(...rows.map(({ flag }) => flag.length)) + 2);
  const blocks = groups
    .map((group) => ({ group, rows: rows.filter((row) => row.group === group) }))
    .filter((block) => block.rows.length > 0)
    .map(({ group, rows }) =>
      [
        `${group[0]!.toUpperCase()}${group.slice(1)}:`,
        ...rows.map(({ flag, text }) => `  ${flag.padEnd(width)}${text}`),
      ].join("\n"),
    );
  const { reads = [] } = command;
  return [
    `coa ${name}${command.arguments ? ` ${command.arguments}` : ""}`,
    command.summary,
    ...blocks,
    ["Examples:", ...command.examples.map((example) => `  ${example}`)].join("\n"),
    ...(reads.length > 0 ? [`More settings (--set, coa.config.ts): coa help settings ${reads.join(" ")}`] : []),
  ].join("\n\n");
}

/** Choices that fit stand in place of the value: `--resume <auto|never|fresh>`. */
const widestChoices = 30;

function row(name: string, option: Setting): { flag: string; text: string } {
  const choices = option.choices?.join("|") ?? "";
  const fits = choices !== "" && choices.length <= widestChoices;
  const value = option.kind === "toggle" ? "" : ` <${fits ? choices : (option.valueName ?? "value")}>`;
  const short = name in shortFlags ? `-${shortFlags[name]}, ` : "";
  return { flag: `${short}--${name}${value}`, text: described(fits ? { ...option, choices: undefined } : option) };
}

/** What an option or setting is, with its choices and its default. */
export function described(option: Setting): string {
  const shown = [option.default ?? []].flat().filter((value) => value !== false && typeof value !== "object");
  const choices = option.choices ? `; one of ${option.choices.join(", ")}` : "";
  return `${option.describe}${choices}${shown.length > 0 ? ` (default: ${shown.join(", ")})` : ""}`;
}

/** The settings of some sections, or of all: what `coa help settings` prints. */
export function settingsHelp(names: readonly string[]): string {
  const unknown = names.find((name) => !Object.hasOwn(sections, name));
  if (unknown !== undefined)
    throw new UsageError(`there is no section "${unknown}"; there are: ${Object.keys(sections).join(", ")}`);
  const wanted = (names.length > 0 ? names : Object.keys(sections)) as SectionName[];
  const blocks = wanted.map((name) => {
    const { describe, settings } = sections[name];
    const rows = Object.entries(settings as Options).map(([key, setting]) => [`${name}.${key}`, setting] as const);
    const width = Math.max(...rows.map(([path]) => path.length)) + 2;
    const lines = rows.map(
      ([path, setting]) => `  ${path.padEnd(width)}${described(setting)}${setting.flag ? ` [--${setting.flag}]` : ""}`,
    );
    return [`${name}: ${describe}`, ...lines].join("\n");
  });
  return [
    "Settings: in coa.config.ts, or for one call by --set name=value.",
    ...blocks,
    "In coa.config.ts: export default defineConfig({ serve: { port: 4242 } });",
  ].join("\n\n");
}

/** The error for a flag that a command does not have, with what was probably meant: another flag, or a setting. */
export function unknownFlag(name: string, { reads = [] }: Command, flag: string, options: Options): UsageError {
  const setting = flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const section = reads.find((one) => settingAt(one, setting) !== undefined);
  const near = nearestName(flag, Object.keys(options));
  const meant =
    section !== undefined
      ? `: it is a setting, --set ${section}.${setting}=<value>.`
      : near === undefined
        ? "."
        : `: did you mean --${near}?`;
  return new UsageError(`coa ${name} has no flag --${flag}${meant} See: coa ${name} --help`);
}

/** Help over all commands: the overview by stage, the verbs of a group, and which command was probably meant. */
export function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length)) + 2;
  const blocks = Object.entries(stages).map(([title, rows]) =>
    [`${title}:`, ...Object.entries(rows).map(([name, text]) => `  ${name.padEnd(width)}${text}`)].join("\n"),
  );
  return [
    "coa - record a multi-agent system, distill it into one model, train it, compare it, serve it",
    "",
    "Usage: coa <command> [flags]        (from a clone: npm run --silent coa -- <command> [flags])",
    "",
    blocks.join("\n\n"),
    "",
    "Each command: coa <command> --help. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.",
  ].join("\n");
}

function commandsOf(word: string): [name: string, summary: string][] {
  return Object.entries(commands).flatMap(([name, { summary }]) =>
    name.split(" ")[0] === word ? [[name, summary]] : [],
  );
}

/** The verbs of a group: `coa train --help`. Undefined where there is no such group. */
export function groupHelp(word: string): string | undefined {
  const rows = commandsOf(word);
  if (rows.length === 0) return undefined;
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return [
    `coa ${word} <verb>`,
    "",
    ...rows.map(([name, text]) => `  ${name.padEnd(width)}${text}`),
    "",
    `Each verb: coa ${word} <verb> --help`,
  ].join("\n");
}

/** The error for a command line whose command is not known, with what was probably meant. */
export function unknownCommand(args: readonly string[]): UsageError {
  const [first = "", second = ""] = args;
  const verbs = commandsOf(first).map(([name]) => name.split(" ")[1] ?? "");
  if (verbs.length > 0) {
    const near = second === "" || second.startsWith("-") ? undefined : nearestName(second, verbs);
    if (near !== undefined)
      return new UsageError(`coa ${first} has no verb "${second}": did you mean coa ${first} ${near}?`);
    return new UsageError(`coa ${first} needs a verb: ${verbs.join(", ")}`);
  }
  const words = [...new Set(Object.keys(commands).map((name) => name.split(" ")[0]!))];
  const near = nearestName(first, words);
  return new UsageError(
    `there is no command "${first}"${near === undefined ? ". See: coa --help" : `: did you mean coa ${near}?`}`,
  );
}
