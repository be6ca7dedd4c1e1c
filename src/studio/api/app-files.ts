/**
 * The built app: a page, a script, a style sheet, read once. A published package has them in `dist/studio/app/`; a clone
 * builds them at the first start and again when a source of the app has changed.
 */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CoaError } from "../../core/errors.ts";

/** Files by their path on the server. */
export type AppFiles = ReadonlyMap<string, { bytes: Buffer; type: string }>;

const types: Record<string, string> = {
  "/index.html": "text/html; charset=utf-8",
  "/app.js": "text/javascript; charset=utf-8",
  "/app.css": "text/css; charset=utf-8",
};

const packageRoot = resolve(import.meta.dirname, "..", "..", "..");
const ownCache = join(packageRoot, "node_modules", ".cache", "coa-studio");
const fromSource = import.meta.url.endsWith(".ts");

export interface AppFilesOptions {
  /** Told before the app is built. */
  onBuild?: (message: string) => void;
  /** Where a clone keeps what it built. */
  cache?: string;
}

/** Loads the app; in a clone builds it first where that is due. */
export async function loadAppFiles(options: AppFilesOptions = {}): Promise<AppFiles> {
  const folder = fromSource ? await builtFromSource(options) : join(packageRoot, "dist", "studio", "app");
  if (!existsSync(join(folder, "index.html"))) {
    throw new CoaError("storage", `${folder} has no built app: install the package again, or run npm run build`);
  }
  return new Map(
    Object.entries(types).map(([path, type]) => [path, { bytes: readFileSync(join(folder, path)), type }]),
  );
}

/** The folder of the app built from exactly these sources. It appears whole, so that several starts at once don't disturb each other. */
async function builtFromSource({ onBuild, cache = ownCache }: AppFilesOptions): Promise<string> {
  const folder = join(cache, hashOfSources());
  if (existsSync(folder)) return folder;
  onBuild?.("building the studio's pages (first start in a clone; takes a few seconds)…");
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
  const sources = globSync("src/{studio,report,core}/**/*.{ts,tsx,css,html,svg}", { cwd: packageRoot });
  for (const path of [...sources, "package-lock.json"].sort()) {
    if (!path.includes(".test.")) hash.update(path).update(readFileSync(join(packageRoot, path)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Runs Vite over the app's sources. */
export async function buildApp(folder: string): Promise<void> {
  const vite = join(packageRoot, "node_modules", "vite", "bin", "vite.js");
  if (!existsSync(vite)) throw new CoaError("storage", "the studio can't be built here: run npm install first");
  const args = [
    vite,
    "build",
    "--config",
    join("src", "studio", "app", "vite.config.ts"),
    "--outDir",
    folder,
    "--emptyOutDir",
    "--logLevel",
    "warn",
  ];
  const child = spawn(process.execPath, args, { cwd: packageRoot, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const code = await new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  if (code !== 0) throw new CoaError("storage", `the studio could not be built:\n${said.slice(-4_000)}`);
}
