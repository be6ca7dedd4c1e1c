/**
 * Chooses a runtime for training: the native one where it is installed and its binary loads, WebAssembly otherwise, or the
 * one that was asked for. It is opened by the first graph: sampling has kernels of its own and needs none of them, so
 * the runtimes are optional peers of the package.
 */
import { CoaError, messageOf } from "../../../core/errors.ts";
import { openNativeRuntime } from "./native.ts";
import type { Runtime, RuntimeOptions } from "./runtime.ts";
import { openWasmRuntime } from "./wasm.ts";

/** The command that adds the runtime; its install script is not needed on a CPU. */
export const runtimeRemedy = "npm install --ignore-scripts onnxruntime-node";

/** A runtime that opens itself when the first graph is loaded; `name` insists on one. */
export function openRuntime(options: RuntimeOptions & { name?: Runtime["name"] } = {}): Runtime {
  let opening: Promise<Runtime> | undefined;
  return {
    name: options.name ?? (isInstalled("onnxruntime-node") ? "native" : "wasm"),
    async load(model) {
      opening ??= open(options);
      return (await opening).load(model);
    },
  };
}

async function open(options: RuntimeOptions & { name?: Runtime["name"] }): Promise<Runtime> {
  const wanted = options.name ? [options.name] : (["native", "wasm"] as const);
  const problems: string[] = [];
  for (const name of wanted) {
    try {
      return await (name === "native" ? openNativeRuntime(options) : openWasmRuntime(options));
    } catch (error) {
      problems.push(messageOf(error).split("\n")[0]!);
    }
  }
  const missing = !isInstalled("onnxruntime-node") && !isInstalled("onnxruntime-web");
  throw new CoaError(
    "engine",
    missing
      ? `training needs ONNX Runtime, which is not installed: ${runtimeRemedy}`
      : `ONNX Runtime does not load on ${process.platform}-${process.arch}: ${problems.join("; ")}`,
  );
}

/** Whether a package is there; it is not loaded. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}
