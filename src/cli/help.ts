/** Help over all commands: the overview by stage, the verbs of a group, and which command was probably meant. */
import { nearestName } from "../base/work/check-options.ts";
import { UsageError } from "../core/errors.ts";
import { commands, stages } from "./commands/index.ts";

/** Commands that are part of others now, by their earlier names. */
const renamed: Readonly<Record<string, string>> = {
  status: "coa show",
  profiles: "coa show profiles, or coa show <profile>",
  "dataset inspect": "coa show <dataset> <number or id>",
  "dataset stats": "coa show <dataset>",
  "distill report": "coa show <distillation>",
  "distill show": "coa show <distillation> <run or task>",
  "eval list": "coa show evals, and coa show benchmarks",
  "eval report": "coa show <evaluation>",
  "eval show": "coa show <evaluation> <task>",
  "record list": "coa show recordings",
  "record export": "coa record import --out <file>",
  "record show": "coa show <run>",
  "model info": "coa show <model>",
  "index search": 'coa show <index> "words"',
  "index serve": "coa serve tools --index <folder> (or --docs <folder of documents>)",
  "train plot": "coa show <training>",
  "train rollouts": "coa show <training> --out rollouts.jsonl",
  "serve report": "coa show <kept.jsonl>",
  "tasks check": "coa tasks select --system team",
  "lab new": "coa lab tasks --world <folder>",
  "lab serve": "coa lab tasks --world <folder>, and open its pages/index.html",
  "tools try": "coa tools <tool> <body>",
  "tools time": "coa tools <tool> <body>",
  "model score": "engine.forward of chain-of-agents/engines, or the token view of coa studio",
  "model sample": "coa ask --model <folder>, or engine.sample of chain-of-agents/engines",
  "studio export": "coa studio <folder>",
};

/** The error for a command that is part of another now; undefined where there is none of this name. */
export function renamedCommand([first = "", second = ""]: readonly string[]): UsageError | undefined {
  const name = [`${first} ${second}`, first].find((words) => words in renamed);
  return name === undefined ? undefined : new UsageError(`coa ${name} is not a command any more: use ${renamed[name]}`);
}

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
