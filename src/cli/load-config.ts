/**
 * The configuration of a workspace: `coa.config.ts` beside the `.coa/` that `coa init` made. It is a program, so it is
 * never run in another folder: a downloaded model or dataset may bring one of its own.
 */
import { existsSync, readFileSync } from "node:fs";
import { loadEnvFile } from "node:process";
import { loadModule } from "../base/files/load-module.ts";
import { isInitialised } from "../base/files/workspace.ts";
import { nearestName } from "../base/work/check-options.ts";
import { UsageError } from "../core/errors.ts";
import { readSetting } from "./setting.ts";
import { sections, settingAt } from "./settings/index.ts";

/** The names under which a configuration is found, the first one there is. */
export const configNames = ["coa.config.ts", "coa.config.js", "coa.config.json"] as const;

/** The values that a configuration sets, by section and name. */
export type Configured = Record<string, Record<string, unknown>>;

/** Configuration and `.env` that are here and not read, because `coa init` did not make this folder a workspace. */
export function unreadFiles(): string[] {
  return isInitialised() ? [] : [...configNames, ".env"].filter((name) => existsSync(name));
}

/** Loads `.env` if the current folder is a workspace made by `coa init`; in other folders it is not ours to read. */
export function loadDotEnv(): void {
  if (existsSync(".env") && isInitialised()) loadEnvFile(".env");
}

/** The configuration of the current folder, checked; empty where there is none or the folder is not a workspace. */
export async function loadConfig(): Promise<Configured> {
  const file = isInitialised() ? configNames.find((name) => existsSync(name)) : undefined;
  if (file === undefined) return {};
  const { default: config } = await loadModule(file);
  if (config === null || typeof config !== "object")
    throw new UsageError(`${file} has no configuration as its default export: export default defineConfig({ … })`);
  const source = readFileSync(file, "utf8");
  const configured: Configured = {};
  for (const [section, values] of Object.entries(config)) {
    const where = (name?: string) =>
      `${file}${lineOf(source, section, name)}: ${name ? `${section}.${name}` : section}`;
    if (!Object.hasOwn(sections, section))
      throw new UsageError(`${where()} is not a section${meant(section, Object.keys(sections))}`);
    configured[section] = {};
    for (const [name, value] of Object.entries((values ?? {}) as object)) {
      if (value === undefined) continue;
      const setting = settingAt(section, name);
      if (!setting) throw new UsageError(`${where(name)} is not a setting${meantSetting(section, name)}`);
      configured[section][name] = readSetting(setting, value, where(name));
    }
  }
  return configured;
}

export function meantSetting(section: string, name: string): string {
  return meant(name, Object.keys(sections[section as keyof typeof sections].settings), `coa help settings ${section}`);
}

export function meant(name: string, names: readonly string[], list = "coa help settings"): string {
  const near = nearestName(name, names);
  return near === undefined ? `. See: ${list}` : `: did you mean ${near}?`;
}

/** `:12`, the line where a section, or a setting in it, is written; nothing where it is computed. */
function lineOf(source: string, section: string, name?: string): string {
  const key = (word: string) => new RegExp(`(?:^|[\\s{,])["']?${word.replace(/\W/g, ".")}["']?\\s*:`, "g");
  let at: RegExpExecArray | null = null;
  for (const word of name === undefined ? [section] : [section, name]) {
    const pattern = key(word);
    pattern.lastIndex = at === null ? 0 : at.index + at[0].length - 1;
    at = pattern.exec(source);
    if (at === null) return "";
  }
  return `:${source.slice(0, at!.index + 1).split("\n").length}`;
}
