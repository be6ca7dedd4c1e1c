/** The studio's pages built by Vite: for the package, and in a clone for `coa studio`, once for each state of the sources. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";

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

/** Runs Vite over the app's sources: one script and one style sheet, under names that do not change. */
export async function buildApp(folder: string): Promise<void> {
  const app = join(root, "src", "studio", "app");
  const { build } = await import("vite");
  const mode = process.env["NODE_ENV"];
  await build({
    configFile: false,
    root: app,
    base: "./",
    logLevel: "warn",
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    publicDir: join(app, "public"),
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      assetsInlineLimit: 0,
      lib: {
        entry: join(app, "main.tsx"),
        formats: ["iife"],
        name: "coaStudio",
        fileName: () => "app.js",
        cssFileName: "app",
      },
    },
  });
  // Vite sets it for the whole process.
  if (mode === undefined) delete process.env["NODE_ENV"];
}
