/** Help of one command, and what was probably meant by a flag that it does not have. */
import { nearestName } from "../base/work/check-options.ts";
import { UsageError } from "../core/errors.ts";
import type { Command, Options } from "./command.ts";

/** Help of one command: what it does, its flags, examples. */
export function commandHelp(command: Command, options: Options): string {
  const flags = Object.entries(options).map(([name, option]): [string, string] => {
    const value = option.type === "string" ? ` <${option.valueName ?? "value"}>` : "";
    const shown = [option.default ?? []].flat().filter((value) => value !== false);
    const byDefault = shown.length > 0 ? ` (default ${shown.join(", ")})` : "";
    return [`${option.short ? `-${option.short}, ` : ""}--${name}${value}`, `${option.describe}${byDefault}`];
  });
  const width = Math.min(34, Math.max(...flags.map(([flag]) => flag.length)) + 2);
  return [
    `coa ${command.name}${command.arguments ? ` ${command.arguments}` : ""}`,
    "",
    command.summary,
    "",
    "Flags:",
    ...flags.map(([flag, text]) => `  ${flag.padEnd(width)}${text}`),
    "",
    "Examples:",
    ...command.examples.map((example) => `  ${example}`),
  ].join("\n");
}

/** The error for a flag that a command does not have, with what was probably meant. */
export function unknownFlag(command: string, flag: string, options: Options): UsageError {
  const near = nearestName(flag, Object.keys(options));
  const meant = near === undefined ? "." : `: did you mean --${near}?`;
  return new UsageError(`coa ${command} has no flag --${flag}${meant} See: coa ${command} --help`);
}
