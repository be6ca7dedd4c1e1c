/** `coa.json` beside a model's weights: how the model is to be used. */
import { join } from "node:path";
import { z } from "zod";
import { CoaError } from "../../core/errors.ts";
import { type ModelUse, modelUseSchema } from "../../core/model-use.ts";
import { readJsonIfThere } from "./read-json.ts";
import { writeJson } from "./write-file.ts";

const modelUseName = "coa.json";

/** What a model's folder says of its use; undefined where it says nothing. Runs no code, opens no connection. */
export async function readModelUse(folder: string): Promise<ModelUse | undefined> {
  const path = join(folder, modelUseName);
  const value = await readJsonIfThere(path);
  if (value === undefined) return undefined;
  const parsed = modelUseSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CoaError("storage", `${path} does not say how the model is used: ${z.prettifyError(parsed.error)}`);
}

/** Writes how a model is to be used beside its weights. */
export async function writeModelUse(folder: string, use: ModelUse): Promise<void> {
  await writeJson(join(folder, modelUseName), use);
}
