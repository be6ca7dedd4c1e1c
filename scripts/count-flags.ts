/** How many commands the command line has, how many distinct flags, and the most flags of one command. */
import { flagsOf } from "../src/cli/command.ts";
import { commands } from "../src/cli/commands/index.ts";

export interface FlagCounts {
  commands: number;
  flags: number;
  /** The command with the most flags in its help, and how many. */
  most: { command: string; flags: number };
}

/** Counts the commands and flags of the whole command line, as `--help` shows them. */
export async function flagCounts(): Promise<FlagCounts> {
  const flags = new Set<string>();
  let most = { command: "", flags: 0 };
  for (const [name, { load }] of Object.entries(commands)) {
    const own = Object.keys(flagsOf((await load()).default));
    for (const flag of own) flags.add(flag);
    if (own.length > most.flags) most = { command: name, flags: own.length };
  }
  return { commands: Object.keys(commands).length, flags: flags.size, most };
}

if (import.meta.main) {
  const counts = await flagCounts();
  console.log(
    `${counts.commands} commands, ${counts.flags} flags, at most ${counts.most.flags} (${counts.most.command})`,
  );
}
