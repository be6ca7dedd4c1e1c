/**
 * The built app: a page, a script, a style sheet, read once. A published package has them in `dist/studio/app/`; a clone
 * builds them at the first start and again when a source of the app is newer.
 */
import { spawn } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
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
const fromSource = import.meta.url.endsWith(".ts");

/** Loads the app; in a clone builds it first where that is due. `onBuild` is told before. */
export async function loadAppFiles(options: { onBuild?: (message: string) => void } = {}): Promise<AppFiles> {
  const folder = join(packageRoot, "dist", "studio", "app");
  if (fromSource && isStale(folder)) {
    options.onBuild?.("building the studio's pages (first start in a clone; takes a few seconds)…");
    await buildApp();
  }
  if (!existsSync(join(folder, "index.html"))) {
    throw new CoaError("storage", `${folder} has no built app: install the package anew, or run npm run build`);
  }
  return new Map(
    Object.entries(types).map(([path, type]) => [path, { bytes: readFileSync(join(folder, path)), type }]),
  );
}

function isStale(folder: string): boolean {
  const built = statSync(join(folder, "index.html"), { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return true;
  const sources = globSync("src/{studio/app,report}/**/*.{ts,tsx,css,html}", { cwd: packageRoot });
  return sources.some((path) => !path.includes(".test.") && statSync(join(packageRoot, path)).mtimeMs > built);
}

/** Runs Vite over the app's sources. */
export async function buildApp(): Promise<void> {
  const vite = join(packageRoot, "node_modules", "vite", "bin", "vite.js");
  if (!existsSync(vite)) throw new CoaError("storage", "the studio can't be built here: run npm install first");
  const args = [vite, "build", "--config", join("src", "studio", "app", "vite.config.ts"), "--logLevel", "warn"];
  const child = spawn(process.execPath, args, { cwd: packageRoot, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const code = await new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  if (code !== 0) throw new CoaError("storage", `the studio could not be built:\n${said.slice(-4_000)}`);
}
