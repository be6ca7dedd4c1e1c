/** `npm run build`: dist/ with declarations, by tsc, from nothing. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

rmSync("dist", { recursive: true, force: true });
const tsc = join("node_modules", ".bin", "tsc");
const { status } = spawnSync(tsc, ["-p", "tsconfig.build.json"], { stdio: "inherit" });
process.exit(status ?? 1);
