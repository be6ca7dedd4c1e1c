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
    level: pyodideLevel(),
    languages: ["python"],
    start: (memoryMb) => startPyodide({ memoryMb, cacheFolder }),
  });
}

/** How strong the Pyodide sandbox is on this machine. */
export function pyodideLevel(): SandboxLevel {
  return {
    kind: "pyodide",
    strength: "moderate",
    caveats: nodeCaveats(pyodideLaunch("plain", 512)),
    cannot: ["deep recursion", "large memory", "threads"],
    slowdown: 4,
  };
}
