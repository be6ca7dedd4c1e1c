/** Python as WebAssembly in a hardened Node child: the sandbox that is there after `npm install`, on every system. */
import type { SandboxLevel } from "../../core/sandbox.ts";
import { type LineSandboxOptions, lineSandbox, type WarmSandbox } from "./line-sandbox.ts";
import { nodeCaveats } from "./node-launch.ts";
import { pyodideLaunch, startPyodide } from "./pyodide-launch.ts";

export interface PyodideOptions extends LineSandboxOptions {
  /** Where the start snapshot is kept; the user's cache folder unless told. */
  cacheFolder?: string;
}

/** Python's standard library and nothing else; about 1 ms per small run once warm. */
export function pyodideSandbox(options: PyodideOptions = {}): WarmSandbox {
  const { cacheFolder } = options;
  return lineSandbox({
    ...options,
    level: pyodideLevel(options.isolation),
    languages: ["python"],
    start: (memoryMb) => startPyodide({ memoryMb, cacheFolder }),
  });
}

/** How strong the Pyodide sandbox is on this machine. */
export function pyodideLevel(isolation: "trajectory" | "run" = "trajectory"): SandboxLevel {
  const caveats = nodeCaveats(pyodideLaunch("plain", 512));
  if (isolation === "run") {
    caveats.push("runs share children: a program can leave changed library classes behind for the next one");
  }
  return { kind: "pyodide", strength: "moderate", caveats };
}
