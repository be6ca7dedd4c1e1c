/** Reads `.env` of the current folder the way people expect: it fills in what the environment does not set. */
import { existsSync } from "node:fs";
import { loadEnvFile } from "node:process";

/** Loads `.env` if there is one; a broken file is reported by Node and does not stop the command. */
export function loadDotEnv(file = ".env"): void {
  if (existsSync(file)) loadEnvFile(file);
}
