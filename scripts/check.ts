/**
 * `npm run check`: format, lint, types, import table, cycles, homes of mechanisms, sizes, docs in step. Runs all of them and says everything
 * that is wrong at once. `--root` checks another tree with the same rules (the tests use it).
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkHomes, countSigns } from "./check-homes.ts";
import { checkImports } from "./check-imports.ts";
import { checkLimits, checkRatchet } from "./check-limits.ts";
import { checkLock } from "./check-lock.ts";
import { checkPackage } from "./check-package.ts";
import { checkSize } from "./check-size.ts";
import { checkWords } from "./check-words.ts";
import { flagCounts } from "./count-flags.ts";
import { installedMegabytes } from "./installed-size.ts";
import { checkPublicApi, publicApi } from "./public-api.ts";
import { sourceFiles } from "./source-files.ts";
import { checkDocs } from "./sync-docs.ts";

const { values } = parseArgs({
  options: { root: { type: "string", default: "." }, only: { type: "string", default: "" } },
});
const root = resolve(values.root);
const tool = (name: string) => join(import.meta.dirname, "..", "node_modules", ".bin", name);

function external(command: string, args: string[]): string[] {
  const { status, stdout, stderr } = spawnSync(tool(command), args, { cwd: root, encoding: "utf8" });
  return status === 0 ? [] : [`${stdout}${stderr}`.trim()];
}

/** Keeps what tsc found, so that the next check reads changed files alone. */
const incremental = (name: string) => [
  "--incremental",
  "--tsBuildInfoFile",
  join(root, "node_modules", ".cache", "coa", `${name}.tsbuildinfo`),
];

const checks: Record<string, () => string[] | Promise<string[]>> = {
  "format and lint": () => external("biome", ["check", "--error-on-warnings", "."]),
  // The browser's app has its own globals and JSX, so it is checked by itself.
  types: () =>
    ["tsconfig.json", join("src", "studio", "app", "tsconfig.json")]
      .filter((config) => existsSync(join(root, config)))
      .flatMap((config, index) => external("tsc", ["-p", config, ...incremental(`types-${index}`)])),
  imports: () => checkImports(root),
  homes: () => checkHomes(root),
  sizes: () => checkSize(root),
  limits: async () => {
    const { commands, flags, most } = await flagCounts();
    const surface = root === resolve(import.meta.dirname, "..") ? publicApi() : undefined;
    const { table, complaints } = checkLimits(root, {
      ...countSigns(sourceFiles(root)),
      commands,
      "distinct flags": flags,
      "most flags of a command": most.flags,
      "megabytes installed": installedMegabytes(root),
      ...(surface && { "public names": surface.names, "forgotten exports": surface.forgotten.length }),
    });
    for (const line of table) console.log(`     ${line}`);
    return [...complaints, ...checkRatchet(root)];
  },
  lockfile: () => checkLock(root),
  words: async () => {
    const surface = root === resolve(import.meta.dirname, "..") ? publicApi().comments : [];
    return checkWords(root, [...(await flagCounts()).texts, ...surface]);
  },
  docs: () => checkDocs(root),
  // It builds and packs everything: only where time matters less.
  package: () => (process.env["CI"] && root === resolve(import.meta.dirname, "..") ? checkPackage(root) : []),
  "public API": () => (root === resolve(import.meta.dirname, "..") ? checkPublicApi() : []),
};

let failed = false;
for (const [name, check] of Object.entries(checks)) {
  if (values.only && !values.only.split(",").includes(name)) continue;
  const complaints = await check();
  console.log(`${complaints.length === 0 ? "ok  " : "FAIL"} ${name}`);
  for (const complaint of complaints) console.log(complaint.replace(/^/gm, "     "));
  failed ||= complaints.length > 0;
}
process.exitCode = failed ? 1 : 0;
