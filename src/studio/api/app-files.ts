/** The built app: a page, a script, a style sheet, read once. The package has them; a clone builds them by its own script. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CoaError } from "../../core/errors.ts";

/** Files by their path on the server. */
export type AppFiles = ReadonlyMap<string, { bytes: Buffer; type: string }>;

const types: Record<string, string> = {
  "/index.html": "text/html; charset=utf-8",
  "/app.js": "text/javascript; charset=utf-8",
  "/app.css": "text/css; charset=utf-8",
};

const packageRoot = resolve(import.meta.dirname, "..", "..", "..");

type OnBuild = (message: string) => void;

/** Loads the app. In a clone it is built first where that is due, which `onBuild` is told. */
export async function loadAppFiles(onBuild?: OnBuild, cache?: string): Promise<AppFiles> {
  let folder = join(packageRoot, "dist", "studio", "app");
  if (import.meta.url.endsWith(".ts")) {
    const script = pathToFileURL(join(packageRoot, "scripts", "build-studio.ts")).href;
    const { builtApp } = (await import(script)) as { builtApp(tell?: OnBuild, cache?: string): Promise<string> };
    folder = await builtApp(onBuild, cache);
  }
  if (!existsSync(join(folder, "index.html"))) {
    throw new CoaError("storage", `${folder} has no built app: install the package again, or run npm run build`);
  }
  return new Map(
    Object.entries(types).map(([path, type]) => [path, { bytes: readFileSync(join(folder, path)), type }]),
  );
}
