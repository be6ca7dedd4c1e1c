/** Help over all commands: the overview by stage, the verbs of a group, and which command was probably meant. */
import { nearestName } from "../base/work/check-options.ts";
import { UsageError } from "../core/errors.ts";
import { commands, stages } from "./commands/index.ts";

/** All commands by stage. */
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

/** The commands whose first word is this. */
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
