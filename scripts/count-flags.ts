/** How many commands the command line has, how many distinct flags, and the most flags of one command. */
import { flagsOf } from "../src/cli/command.ts";
import { commands } from "../src/cli/commands/index.ts";

export interface FlagCounts {
  commands: number;
  flags: number;
  /** The command with the most flags in its help, and how many. */
  most: { command: string; flags: number };
  /** What the help says of each command and flag. */
  texts: (readonly [where: string, text: string])[];
}

/** Counts the commands and flags of the whole command line, as `--help` shows them. */
export async function flagCounts(): Promise<FlagCounts> {
  const flags = new Set<string>();
  let most = { command: "", flags: 0 };
  const texts: FlagCounts["texts"] = [];
  for (const [name, { load, summary }] of Object.entries(commands)) {
    const options = flagsOf((await load()).default);
    const own = Object.keys(options);
    texts.push(
      [`coa ${name}`, summary],
      ...own.map((flag) => [`coa ${name} --${flag}`, options[flag]!.describe] as const),
    );
    for (const flag of own) flags.add(flag);
    if (own.length > most.flags) most = { command: name, flags: own.length };
  }
  return { commands: Object.keys(commands).length, flags: flags.size, most, texts };
}

if (import.meta.main) {
  const counts = await flagCounts();
  console.log(
    `${counts.commands} commands, ${counts.flags} flags, at most ${counts.most.flags} (${counts.most.command})`,
  );
}
