/** Reads one JSON file from outside: a byte order mark is skipped, and every error names the file. */
import { readFile } from "node:fs/promises";
import type { z } from "zod";
import { CoaError, messageOf } from "../../core/errors.ts";

/** The value in a JSON file; `hint` ends the message when the file can't be read. */
export async function readJson(path: string, hint = ""): Promise<unknown> {
  const value = await readJsonIfThere(path);
  if (value !== undefined) return value;
  throw new CoaError("storage", `there is no file ${path}${hint ? ` (${hint})` : ""}`);
}

/** The value in a JSON file, or undefined where there is no such file. */
export async function readJsonIfThere(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new CoaError("storage", `can't read ${path}: ${messageOf(error)}`, { cause: error });
  }
  return jsonIn(text.replace(/^\uFEFF/, ""), path);
}

/** The value in a file of ours, as its schema has it; undefined where there is no such file. `what` says what a damaged one is not. */
export async function readJsonAs<T>(path: string, schema: z.ZodType<T>, what: string): Promise<T | undefined> {
  const value = await readJsonIfThere(path);
  if (value === undefined) return undefined;
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const found = error.issues.slice(0, 3).map((issue) => `${issue.path.join(".") || "the whole"}: ${issue.message}`);
  throw new CoaError("storage", `${path} is not ${what}: ${found.join("; ")}`);
}

/** The value of a text that stands in this file. */
export function jsonIn(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CoaError("storage", `${path} is not JSON: ${messageOf(error)}`, { cause: error });
  }
}
