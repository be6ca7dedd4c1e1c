import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readManifest } from "../../base/files/manifest.ts";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { readJsonIfThere } from "../../base/files/read-json.ts";
import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { asNumber, asObject, asString } from "../../core/json-value.ts";
import { modelFingerprint } from "../../engines/embedded/files/model-fingerprint.ts";
import { percent } from "../../report/format-figures.ts";
import { readCascade } from "../../switch/cascade.ts";
import { cascadeSentence } from "../../switch/cascade-report.ts";
import { readActs, recordAct, servingAfter, statusOf } from "../../switch/registry.ts";
import { defineCommand } from "../command.ts";
import { findModelFolder, knownModels } from "../find-model.ts";
import { table } from "../output.ts";
import { text } from "../setting.ts";
import { shareOf } from "./cascade-fit.ts";

export default defineCommand({
  summary:
    "Make a model live, or give it a share of the conversations as a canary; coa serve --model live follows at once. Without a model: list every model with its lineage, evaluations, cascade and status.",
  arguments: "[model]",
  examples: ["coa promote", "coa promote sft-2 --canary 10%", "coa promote sft-2"],
  options: {
    canary: text("Give it this share of the conversations beside the live model", { valueName: "share" }),
  },
  async run({ values, positionals: [name], out }) {
    const { root } = await openWorkspace();
    if (name === undefined) {
      const models = await listed(root);
      const rows = models.map((one) => [one.name, one.status, one.lineage, one.evaluations.map(({ of, success }) => `${percent(success)} of ${of}`).join(", ") || "–", one.cascade ?? "–"]); // biome-ignore format: one row
      return { json: models, text: table([["model", "status", "trained", "success", "cascade"], ...rows]) };
    }
    const folder = findModelFolder(name);
    if (folder === undefined) throw new UsageError(`found no model "${name}"; there are ${knownModels().map((one) => one.name).join(", ")}`); // biome-ignore format: one refusal
    const weight = values.canary === undefined ? undefined : shareOf(values.canary, "--canary");
    if ((await readCascade(folder)) === undefined)
      out.note(
        "it has no cascade: coa serve --cascade refuses its conversations, without --cascade it answers every question",
      );
    const serving = await recordAct(root, { act: weight === undefined ? "promote" : "canary", folder: resolve(folder), weight }); // biome-ignore format: one act
    const text = weight === undefined ? `live: ${folder}` : `canary with ${percent(weight, 0)} of the conversations: ${folder}`; // biome-ignore format: one sentence
    return { json: { live: serving.live, canary: serving.canary }, text };
  },
});

interface Listed {
  name: string;
  folder: string;
  status: string;
  lineage: string;
  evaluations: { name: string; of: number; success: number }[];
  cascade?: string;
}

/** Every model here, as the registry, its folder and the evaluations tell. */
async function listed(root: string): Promise<Listed[]> {
  const serving = servingAfter(await readActs(root));
  const evaluations = await evaluationsOf(root);
  const known = knownModels();
  // A model of any folder can be live.
  const elsewhere = [serving.live, serving.canary?.folder].filter((one) => one !== undefined && existsSync(one) && !known.some(({ folder }) => resolve(folder) === one)); // biome-ignore format: one list
  const rows = [...known, ...elsewhere.map((folder) => ({ name: folder!, folder: folder! }))].map(
    async ({ name, folder }): Promise<Listed> => {
      const [use, cascade, print] = await Promise.all([readModelUse(folder), readCascade(folder), modelFingerprint(folder)]); // biome-ignore format: one read
      const lineage = (use?.training ?? []).map(({ stage, from }) => (from === undefined ? stage : `${stage} of ${from}`)).join(", ") || "–"; // biome-ignore format: one line
      const own = evaluations.filter(({ model }) => model === print).map(({ model: _model, ...rest }) => rest);
      return { name, folder, status: statusOf(serving, resolve(folder)), lineage, evaluations: own, ...(cascade && { cascade: cascadeSentence(cascade) }) }; // biome-ignore format: one row
    },
  );
  return Promise.all(rows);
}

async function evaluationsOf(root: string): Promise<{ name: string; model: string; of: number; success: number }[]> {
  const names = await readdir(join(root, "evals"), { withFileTypes: true }).catch(() => []);
  const found = names.filter((entry) => entry.isDirectory()).map(async ({ name }) => {
    const folder = join(root, "evals", name);
    const identity = asObject(asObject((await readManifest(folder))?.configuration)?.["identity"]);
    const summary = asObject(await readJsonIfThere(join(folder, "summary.json")));
    const overall = asObject(summary?.["overall"]);
    const model = asString(asObject(identity?.["model"])?.["fingerprint"]);
    const success = asNumber(asObject(overall?.["success"])?.["value"]);
    return model === undefined || success === undefined ? [] : [{ name, model, of: asNumber(overall?.["tasks"]) ?? 0, success }];
  }); // biome-ignore format: one row
  return (await Promise.all(found)).flat();
}
