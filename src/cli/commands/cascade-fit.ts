import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import { asNumber, asObject, asString } from "../../core/json-value.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import { modelFingerprint } from "../../engines/embedded/files/model-fingerprint.ts";
import { writeCascade } from "../../switch/cascade.ts";
import { cascadeHtml, cascadeSentence, cascadeText } from "../../switch/cascade-report.ts";
import { fitCascade, splitPairs } from "../../switch/fit-cascade.ts";
import { readPairs, type TeamAnswers } from "../../switch/pairs.ts";
import { spendTasks } from "../../switch/spent.ts";
import { defineCommand, MissingArgument } from "../command.ts";
import { findModelFolder, knownModels } from "../find-model.ts";
import { table } from "../output.ts";
import { text } from "../setting.ts";
import { readNamed } from "./eval-compare.ts";
import { openGrader } from "./eval-grading.ts";

export default defineCommand({
  summary:
    "Learn from the same tasks, answered by the model and by the team, when the model may answer: at most so many points are lost, with a stated confidence.",
  arguments: "<evaluation of the model> <evaluation or runs of the team>",
  examples: [
    "coa cascade fit chain-sft team --max-loss 1% --confidence 95%",
    "coa cascade fit chain-sft recorded-runs.jsonl --max-loss 2% --model .coa/sft/model",
  ],
  options: {
    "max-loss": text("Max loss of success against the team, in points of 100", { default: "1%", valueName: "share", group: "limits" }),
    confidence: text("How sure the promise is", { default: "95%", valueName: "share", group: "limits" }),
    model: text("Folder or name of the model, where the cascade is kept (default: the evaluated one, if it is here)", { valueName: "folder", group: "model" }),
    html: text("Where the HTML report goes (default: beside cascade.json)", { valueName: "file", group: "output" }),
  }, // biome-ignore format: one flag a line
  reads: ["judge", "grader"],
  async run({ values, settings, positionals, out, session }) {
    const [own, other] = positionals;
    if (own === undefined || other === undefined) throw new MissingArgument("an evaluation of the model and one of the team"); // biome-ignore format: one refusal
    const promise = { maxLoss: shareOf(values["max-loss"], "--max-loss"), confidence: shareOf(values.confidence, "--confidence") }; // biome-ignore format: one promise
    const evaluation = await readNamed(own);
    const identity = evaluation.identity ?? {};
    const folder = await folderOf(values.model, identity);
    const { grader, note } = await openGrader(settings, session, evaluation.tasks);
    if (note) out.note(note);
    const { basis, pairs, unpaired } = await readPairs(evaluation, await teamOf(other), grader);
    if (unpaired > 0)
      out.note(`${unpaired} tasks were answered by one of the two alone, or without a kept chain: left out`);
    if (pairs.length === 0) throw new UsageError(`${own} and ${other} have no task in common`);
    const model = await modelFingerprint(folder);
    const key = fingerprint(JSON.stringify([model, promise, pairs]));
    const { root } = await openWorkspace();
    const tasks = splitPairs(pairs).calibration.map(({ taskId }) => taskId);
    const level = await spendTasks(root, key, tasks);
    const temperature = asNumber(asObject(identity["sampling"])?.["temperature"]) ?? 0;
    const result = fitCascade(pairs, { ...promise, basis, model, temperature, level });
    if (result.refused !== undefined) return { json: result, text: `no cascade: ${result.refused}`, code: 1 };
    const { cascade } = result;
    const file = await writeCascade(folder, cascade);
    const report = values.html ?? join(folder, "cascade.html");
    await writeFile(report, cascadeHtml(cascade));
    return {
      json: { file, report, sentence: cascadeSentence(cascade), ...cascade },
      text: `${cascadeText(cascade, layOut)}\n\n${file}; report: ${report}`,
    };
  },
});

const layOut = (rows: readonly (readonly string[])[]) => table(rows, ["left", ...rows[0]!.slice(1).map(() => "right" as const)]); // biome-ignore format: one table

/** `1%`, `1 %` or `0.01`. */
export function shareOf(given: string, flag: string): number {
  const [, digits, percent] = /^\s*(\d*\.?\d+)\s*(%?)\s*$/.exec(given) ?? [];
  const share = Number(digits) / (percent ? 100 : 1);
  if (share > 0 && share < 1) return share;
  throw new UsageError(`${flag} takes a share such as 1% or 0.01, not "${given}"`);
}

async function teamOf(name: string): Promise<TeamAnswers> {
  if (name.endsWith(".jsonl")) {
    if (!existsSync(name)) throw new UsageError(`there is no file ${name}`);
    return { kind: "runs", runs: await readAllJsonl(name, teamRunSchema) };
  }
  return { kind: "evaluation", evaluation: await readNamed(name) };
}

/** The folder given, or the one here that holds exactly the evaluated weights. */
async function folderOf(given: string | undefined, identity: Readonly<Record<string, unknown>>): Promise<string> {
  if (given !== undefined) {
    const folder = findModelFolder(given);
    if (folder !== undefined) return folder;
    throw new UsageError(`found no model "${given}"`);
  }
  const evaluated = asString(asObject(identity["model"])?.["fingerprint"]);
  for (const { folder } of evaluated === undefined ? [] : knownModels())
    if ((await modelFingerprint(folder)) === evaluated) return folder;
  throw new UsageError("the evaluated model is not in this workspace: give its folder with --model");
}
