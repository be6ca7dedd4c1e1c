/** Chooses a runtime: the native one where its binary loads, WebAssembly otherwise, or the one that was asked for. */
import { CoaError, messageOf } from "../../../core/errors.ts";
import { openNativeRuntime } from "./native.ts";
import type { Runtime, RuntimeOptions } from "./runtime.ts";
import { openWasmRuntime } from "./wasm.ts";

/** Opens a runtime; `name` insists on one. */
export async function openRuntime(options: RuntimeOptions & { name?: Runtime["name"] } = {}): Promise<Runtime> {
  if (options.name === "wasm") return openWasmRuntime(options);
  try {
    return await openNativeRuntime(options);
  } catch (error) {
    if (options.name === "native") {
      throw new CoaError(
        "engine",
        `onnxruntime-node does not load on ${process.platform}-${process.arch}: ${messageOf(error)}. Use the "wasm" runtime`,
        { cause: error },
      );
    }
    return openWasmRuntime(options);
  }
}
