import type { Config } from "./settings/index.ts";

/** Gives `coa.config.ts` its type: `export default defineConfig({ tools: { docs: "handbook" } })`. */
export function defineConfig(config: Config): Config {
  return config;
}
