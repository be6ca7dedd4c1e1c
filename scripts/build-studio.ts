/** The studio's pages built by Vite: for the package, and in a clone for `coa studio`, once for each state of the sources. */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CoaError } from "../src/core/errors.ts";

const root = resolve(import.meta.dirname, "..");

/** The folder of the app built from exactly these sources. It appears whole, so that several starts at once don't disturb each other. */
export async function builtApp(
  onBuild: (message: string) => void = () => {},
  cache = join(root, "node_modules", ".cache", "coa-studio"),
): Promise<string> {
  const folder = join(cache, hashOfSources());
  if (existsSync(folder)) return folder;
  onBuild("building the studio's pages (first start in a clone; takes a few seconds)…");
  const building = `${folder}-${randomUUID()}`;
  try {
    await buildApp(building);
    await rename(building, folder);
  } catch (error) {
    await rm(building, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // otherwise another start was faster
  }
  return folder;
}

function hashOfSources(): string {
  const hash = createHash("sha256");
  const sources = globSync("src/{studio,report,core}/**/*.{ts,tsx,css,html,svg}", { cwd: root });
  for (const path of [...sources, "package-lock.json"].sort()) {
    if (!path.includes(".test.")) hash.update(path).update(readFileSync(join(root, path)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Runs Vite over the app's sources. */
export async function buildApp(folder: string): Promise<void> {
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  if (!existsSync(vite)) throw new CoaError("storage", "the studio can't be built here: run npm install first");
  const config = join("src", "studio", "app", "vite.config.ts");
  const args = [vite, "build", "--config", config, "--outDir", folder, "--emptyOutDir", "--logLevel", "warn"];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const code = await new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  if (code !== 0) throw new CoaError("storage", `the studio could not be built:\n${said.slice(-4_000)}`);
}
