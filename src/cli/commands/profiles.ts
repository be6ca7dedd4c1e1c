import type { Profile } from "../../language/profile.ts";
import { systemPrompt } from "../../language/system-prompt.ts";
import { chooseProfile, namedProfiles } from "../choose-profile.ts";
import { defineCommand } from "../command.ts";
import { table } from "../output.ts";

export default defineCommand({
  name: "profiles",
  summary: "List the chain profiles, or show one: its tags, what may follow what, and its system prompt.",
  arguments: "[name|file]",
  examples: ["coa profiles", "coa profiles web --prompt"],
  options: { prompt: { type: "boolean", default: false, describe: "Print the system prompt that the profile gives" } },
  async run({ values, positionals, out }) {
    const name = positionals[0];
    const profiles = name === undefined ? Object.values(namedProfiles) : [await chooseProfile(name)];
    if (values.json) out.json(name === undefined ? profiles : profiles[0]);
    else if (values.prompt) out.print(profiles.map((profile) => systemPrompt(profile)).join("\n\n---\n\n"));
    else out.print(profiles.map(describe).join("\n\n"));
    return 0;
  },
});

function describe(profile: Profile): string {
  const rows = profile.tags.map((tag) => [
    tag.name,
    tag.tool ? "tool" : "role",
    tag.think,
    tag.next.join(", ") || "(end)",
  ]);
  return `${profile.name}: ${profile.purpose}\n${table([["tag", "kind", "think", "may be followed by"], ...rows])}`;
}
