/** JavaScript in QuickJS as WebAssembly, in a Node child without rights; there after `npm install`, on every system. */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { startLineChild } from "./line-child.ts";
import { type LineSandboxOptions, lineSandbox, type WarmSandbox } from "./line-sandbox.ts";
import { nodeCaveats, nodeLaunch } from "./node-launch.ts";

/** The language itself, `console`, timers, `require("fs").readFileSync(0)`; no packages and no files. */
export function quickjsSandbox(options: LineSandboxOptions = {}): WarmSandbox {
  const launch = quickjsLaunch(512);
  return lineSandbox({
    ...options,
    level: { kind: "quickjs", strength: "moderate", caveats: nodeCaveats(launch) },
    languages: ["javascript"],
    start: (memoryMb) => startLineChild(quickjsLaunch(memoryMb)),
  });
}

function quickjsLaunch(memoryMb: number) {
  const require = createRequire(import.meta.url);
  const mainFile = require.resolve("quickjs-emscripten");
  const near = createRequire(mainFile);
  const [core, variant, types] = [
    "quickjs-emscripten-core",
    "@jitl/quickjs-wasmfile-release-sync",
    "@jitl/quickjs-ffi-types",
  ].map((name) => packageFolder(near, name)) as [string, string, string];
  const entry = (folder: string): string => pathToFileURL(join(folder, "dist", "index.mjs")).href;
  return nodeLaunch({
    boot: "quickjs-boot",
    parts: ["quickjs-prelude", "child-loop", "output-window", "limits"],
    folders: [core, variant, types],
    args: [entry(core), entry(variant), `${memoryMb}`],
    memoryMb,
  });
}

function packageFolder(require: NodeJS.Require, name: string): string {
  const file = require.resolve(name);
  const parts = file.split(/[\\/]dist[\\/]/);
  return parts[0] ?? dirname(file);
}
