/**
 * `coa.config.ts`: flags that a project always uses, by command. `export default defineConfig({ "train sft": { steps:
 * 500 } })` is the same as typing `--steps 500` each time; a flag that is typed takes precedence.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { loadModule } from "../base/files/load-module.ts";

export type Config = Record<string, Record<string, string | number | boolean | readonly string[]>>;

/** Gives a configuration its type; nothing more. */
export function defineConfig(config: Config): Config {
  return config;
}

const names = ["coa.config.ts", "coa.config.js", "coa.config.json"];

/** The flags that the current folder's configuration sets for a command, as arguments. */
export async function configuredArguments(command: string, folder = "."): Promise<string[]> {
  const file = names.map((name) => resolve(folder, name)).find((path) => existsSync(path));
  if (!file) return [];
  const { default: config } = (await loadModule(file)) as { default?: Config };
  return Object.entries(config?.[command] ?? {}).flatMap(([flag, value]) => {
    if (typeof value === "boolean") return [value ? `--${flag}` : `--no-${flag}`];
    return [value].flat().map((item) => `--${flag}=${item}`);
  });
}
