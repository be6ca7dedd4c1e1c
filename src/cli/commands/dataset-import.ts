import { importChains } from "../../afm/import-chains.ts";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { chooseProfile } from "../choose-profile.ts";
import { defineCommand, existingFiles, MissingArgument } from "../command.ts";
import { text } from "../setting.ts";

export default defineCommand({
  summary:
    "Read chains that are published as text (instruction, input, output) into trajectories, and list what does not parse.",
  arguments: "<file…>",
  examples: [
    "coa dataset import WebAgentSFTDataset.json --out chains.jsonl",
    "coa dataset import CodeAgentSFTDataset.json --profile code --out chains.jsonl --json",
  ],
  options: {
    out: text("Append the trajectories to this file", { default: "chains.jsonl", valueName: "file", group: "output" }),
    profile: text("The chains' profile (default: known from the tools they call)", { valueName: "name" }),
  },
  reads: ["dataset"],
  hides: ["exclude-teacher"],
  async run({ values, settings, positionals, out, signal, session }) {
    if (positionals.length === 0) throw new MissingArgument("files");
    existingFiles(positionals);
    const profile = values.profile === undefined ? undefined : await chooseProfile(values.profile);
    const writer = session.closeAtEnd(await openJsonl<Trajectory>(values.out));
    const reports: Record<string, Awaited<ReturnType<typeof importChains>>> = {};
    for (const file of positionals) {
      reports[file] = await importChains(file, (trajectory) => writer.append(trajectory), {
        profile,
        keepBroken: settings.dataset.keepBroken,
        signal,
        onProgress: (done) => done % 200 === 0 && out.progress({ stage: `reading ${file}`, done }),
      });
    }
    const text = Object.entries(reports).flatMap(([file, report]) => [
      `${file}: ${report.imported} of ${report.rows} chains in ${values.out}`,
      ...Object.entries(report.refused).map(([reason, count]) => `  left out ${count}: ${reason}`),
      ...Object.entries(report.violations).map(([rule, count]) => `  ${count} break the rule ${rule}`),
    ]);
    const code = Object.values(reports).some(({ imported }) => imported > 0) ? 0 : 1;
    return { json: { out: values.out, files: reports }, text, code };
  },
});
