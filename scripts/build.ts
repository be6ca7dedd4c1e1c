/** `npm run build`: dist/ with declarations, by tsc, published prompts, and the studio's pages, by Vite, from nothing. */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildApp } from "./build-studio.ts";

rmSync("dist", { recursive: true, force: true });
const tsc = join("node_modules", ".bin", "tsc");
const { status } = spawnSync(tsc, ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
for (const folder of ["afm", join("graders", "judges")])
  cpSync(join("src", folder, "prompts"), join("dist", folder, "prompts"), { recursive: true });
await buildApp(join(import.meta.dirname, "..", "dist", "studio", "app"));
