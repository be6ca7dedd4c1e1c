/**
 * Chooses a runtime for training: the native one where it is installed and its binary loads, WebAssembly otherwise, or the
 * one that was asked for. It is opened by the first graph: sampling has kernels of its own and needs none of them, so
 * the runtimes are optional peers of the package.
 */
import { isInstalled, missingPeer } from "../../../base/work/optional-peer.ts";
import { CoaError, messageOf } from "../../../core/errors.ts";
import { openNativeRuntime } from "./native.ts";
import type { Runtime, RuntimeOptions } from "./runtime.ts";
import { openWasmRuntime } from "./wasm.ts";

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
  if (missing) throw missingPeer("onnxruntime-node");
  const platform = `${process.platform}-${process.arch}`;
  throw new CoaError("engine", `ONNX Runtime does not load on ${platform}: ${problems.join("; ")}`);
}
