/** `coa.json` beside a model's weights: how the model is to be used. */
import { join } from "node:path";
import { type ModelUse, modelUseSchema } from "../../core/model-use.ts";
import { readJsonAs } from "./read-json.ts";
import { writeJson } from "./write-file.ts";

const modelUseName = "coa.json";

/** What a model's folder says of its use; undefined where it says nothing. Runs no code, opens no connection. */
export async function readModelUse(folder: string): Promise<ModelUse | undefined> {
  return readJsonAs(join(folder, modelUseName), modelUseSchema, "how a model is used");
}

/** Writes how a model is to be used beside its weights. */
export async function writeModelUse(folder: string, use: ModelUse): Promise<void> {
  await writeJson(join(folder, modelUseName), use);
}
