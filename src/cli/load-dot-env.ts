/** Reads the `.env` of a workspace the way people expect: it fills in what the environment does not set. */
import { existsSync } from "node:fs";
import { loadEnvFile } from "node:process";
import { isInitialised } from "../base/files/workspace.ts";

/** Loads `.env` if the current folder is a workspace made by `coa init`; in other folders it is not ours to read. */
export function loadDotEnv(): void {
  if (existsSync(".env") && isInitialised()) loadEnvFile(".env");
}
