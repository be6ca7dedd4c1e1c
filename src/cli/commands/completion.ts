import { UsageError } from "../../core/errors.ts";
import { type CommandTable, defineCommand, flagsOf } from "../command.ts";

const shells = ["bash", "zsh", "fish"] as const;

export default defineCommand({
  name: "completion",
  summary: "Print a script that completes commands and flags in bash, zsh or fish.",
  arguments: "<bash|zsh|fish>",
  examples: [
    'eval "$(coa completion bash)"     # in ~/.bashrc',
    'eval "$(coa completion zsh)"      # in ~/.zshrc',
    "coa completion fish > ~/.config/fish/completions/coa.fish",
  ],
  options: {},
  async run({ values, positionals, out, commands }) {
    const shell = shells.find((name) => name === positionals[0]);
    if (!shell)
      throw new UsageError(`coa completion takes ${shells.join(", ")}. Example: eval "$(coa completion bash)"`);
    const words = await completionWords(commands);
    const script = shell === "fish" ? fish(words) : `${shell === "zsh" ? zshOpening : ""}${bash(words)}`;
    if (values.json) out.json({ shell, script });
    else out.print(script);
    return 0;
  },
});

/** What may follow each command: its verbs, and its flags. */
async function completionWords(commands: CommandTable): Promise<Map<string, string[]>> {
  const words = new Map<string, string[]>([
    ["", [...new Set(Object.keys(commands).map((name) => name.split(" ")[0]!))]],
  ]);
  for (const [name, { load }] of Object.entries(commands)) {
    const [group = "", verb] = name.split(" ");
    if (verb !== undefined) words.set(group, [...(words.get(group) ?? []), verb]);
    const { default: command } = await load();
    const flags = Object.keys(flagsOf(command)).map((flag) => `--${flag}`);
    words.set(name, [...(words.get(name) ?? []), ...flags]);
  }
  return words;
}

function bash(words: Map<string, string[]>): string {
  const cases = (parts: number) =>
    [...words]
      .filter(([name]) => name !== "" && name.split(" ").length === parts)
      .map(([name, list]) => `    "${name}") words="${list.join(" ")}" ;;`)
      .join("\n");
  return `_coa() {
  local words="${words.get("")!.join(" ")}" current="\${COMP_WORDS[COMP_CWORD]}"
  local one="\${COMP_WORDS[1]}" two="\${COMP_WORDS[1]} \${COMP_WORDS[2]}"
  [ "$COMP_CWORD" -gt 1 ] && case "$one" in
${cases(1)}
  esac
  [ "$COMP_CWORD" -gt 2 ] && case "$two" in
${cases(2)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _coa coa`;
}

const zshOpening = "autoload -U +X bashcompinit && bashcompinit\n";

function fish(words: Map<string, string[]>): string {
  const lines = words.get("")!.map((word) => `complete -c coa -n __fish_use_subcommand -a ${word}`);
  for (const [name, list] of words) {
    if (name === "") continue;
    const [group, verb] = name.split(" ");
    const seen = `__fish_seen_subcommand_from ${group}${verb === undefined ? "" : `; and __fish_seen_subcommand_from ${verb}`}`;
    for (const word of list)
      lines.push(`complete -c coa -n "${seen}" ${word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${word}`}`);
  }
  return lines.join("\n");
}
