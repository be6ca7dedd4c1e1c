/**
 * The shape of a command: one file per verb, thin: read flags, call one library function, print. Flags are parsed by
 * Node's own `parseArgs`; this file adds help with examples, the three exit codes and the rules of output: results on
 * stdout, everything else on stderr, colour only on a terminal.
 */
import { existsSync } from "node:fs";
import { type ParseArgsOptionDescriptor, parseArgs } from "node:util";
import { type BadLine, readingWith } from "../base/files/read-jsonl.ts";
import { CoaError, UsageError } from "../core/errors.ts";
import { commandHelp, unknownFlag } from "./command-help.ts";
import { configuredArguments } from "./load-config.ts";
import type { Output } from "./output.ts";

/** A flag: Node's descriptor plus the sentence that help shows. */
export type Option = ParseArgsOptionDescriptor & { describe: string; valueName?: string };
export type Options = Record<string, Option>;

/** The parsed value of each flag: numbers are strings until `numberOf` reads them. */
export type Values<O extends Options> = {
  [K in keyof O]: O[K] extends { type: "boolean" }
    ? boolean
    : O[K] extends { multiple: true }
      ? string[]
      : O[K] extends { default: string }
        ? string
        : string | undefined;
};

export interface Invocation<O extends Options> {
  values: Values<O> & { json: boolean };
  positionals: string[];
  out: Output;
  /** All commands, for those that speak of the others. */
  commands: CommandTable;
  /** Aborted on Ctrl-C: finish the record under way, close files, return. */
  signal: AbortSignal;
}

export interface Command<O extends Options = Options> {
  /** `ask`, or `dataset build` for a verb of a group. */
  name: string;
  summary: string;
  /** What follows the name: `"question"`, `<tasks.jsonl>`. */
  arguments?: string;
  examples: readonly string[];
  options: O;
  /** 0 done, 1 failed, 2 wrong usage. */
  run(invocation: Invocation<O>): Promise<number>;
}

/** Commands by name, each loaded when it is called. */
export type CommandTable = Record<string, { summary: string; load: () => Promise<{ default: Command }> }>;

/** Defines a command; the types of its flags follow from `options`. */
export function defineCommand<const O extends Options>(command: Command<O>): Command {
  return command as unknown as Command;
}

/** Flags that every command has. */
export const sharedOptions = {
  json: { type: "boolean", default: false, describe: "Print one JSON value on stdout" },
  "skip-bad": { type: "boolean", default: false, describe: "Skip lines of input files that can't be read" },
  help: { type: "boolean", short: "h", default: false, describe: "Show this help" },
} as const satisfies Options;

/** Parses the flags and runs the command. */
async function runCommand(
  command: Command,
  args: readonly string[],
  out: Output,
  signal: AbortSignal,
  commands: CommandTable,
): Promise<number> {
  const options: Options = { ...sharedOptions, ...command.options };
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    const configured = await configuredArguments(command.name);
    parsed = parseArgs({
      args: [...configured, ...args],
      options,
      allowPositionals: true,
      strict: true,
      allowNegative: true,
    });
  } catch (error) {
    if (error instanceof CoaError) throw error;
    const flag = /^Unknown option '--(?:no-)?([^']+)'/.exec((error as Error).message)?.[1];
    if (flag !== undefined) throw unknownFlag(command.name, flag, options);
    throw new UsageError(`${(error as Error).message.split(". ")[0]}. See: coa ${command.name} --help`);
  }
  if (parsed.values["help"]) {
    out.print(commandHelp(command, options));
    return 0;
  }
  const skipped = (bad: BadLine) => out.note(`skipped ${bad.file}:${bad.line}: ${bad.message}`);
  return readingWith({ onBad: parsed.values["skip-bad"] ? skipped : "throw", onTorn: skipped }, () =>
    command.run({ values: parsed.values as never, positionals: parsed.positionals, out, signal, commands }),
  );
}

/** The longest prefix of the arguments that names a command. */
export function findCommand(args: readonly string[], commands: CommandTable): string {
  const two = args.slice(0, 2).join(" ");
  return two in commands ? two : (args[0] ?? "");
}

/** Runs a command line of a command that is known to exist. */
export async function runLine(
  args: readonly string[],
  out: Output,
  signal: AbortSignal,
  commands: CommandTable,
): Promise<number> {
  const name = findCommand(args, commands);
  const { default: command } = await commands[name]!.load();
  return runCommand(command, args.slice(name.split(" ").length), out, signal, commands);
}

/** Reads a flag as a number within bounds, or says what was expected. */
export function numberOf(
  value: string | undefined,
  name: string,
  bounds: { min?: number; max?: number; integer?: boolean } = {},
): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, integer = false } = bounds;
  if (
    value.trim() === "" ||
    Number.isNaN(number) ||
    number < min ||
    number > max ||
    (integer && !Number.isInteger(number))
  ) {
    throw new UsageError(`--${name} takes a ${integer ? "whole " : ""}number${boundsText(min, max)}, not "${value}"`);
  }
  return number;
}

function boundsText(min: number, max: number): string {
  if (Number.isFinite(min) && Number.isFinite(max)) return ` from ${min} to ${max}`;
  if (Number.isFinite(min)) return ` of at least ${min}`;
  return Number.isFinite(max) ? ` of at most ${max}` : "";
}

/** Commands show these where something is missing. */
type Named = Pick<Command, "name" | "examples">;

/** The usage error of a command that was given too little: what it needs, and an example. */
export function missingArgument(command: Named, what: string): UsageError {
  return new UsageError(`coa ${command.name} needs ${what}. Example: ${command.examples[0]}`);
}

/** The single positional argument, or a usage error that shows an example. */
export function onePositional(command: Named, positionals: readonly string[], what: string): string {
  const [first, ...rest] = positionals;
  if (first === undefined) throw missingArgument(command, what);
  if (rest.length > 0)
    throw new UsageError(`coa ${command.name} takes one argument (${what}); "${rest[0]}" is one too many (quote it?)`);
  return first;
}

/** The single positional argument as a file that is there: readers of JSONL take a missing file for an empty one. */
export function oneInputFile(...args: Parameters<typeof onePositional>): string {
  const file = onePositional(...args);
  if (!existsSync(file)) throw new UsageError(`${file} does not exist: coa ${args[0].name} needs ${args[2]}`);
  return file;
}

/** The exit code of an error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof CoaError && error.boundary === "usage" ? 2 : 1;
}
