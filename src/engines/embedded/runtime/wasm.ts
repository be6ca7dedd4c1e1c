/** Runs the same graphs with onnxruntime-web (WebAssembly), for platforms without a native binary; about half as fast. */
import { atBoundary } from "../../../core/errors.ts";
import type { HostTensor, Runtime, RuntimeOptions, Session } from "./runtime.ts";

export async function openWasmRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { env, InferenceSession, Tensor } = await import("onnxruntime-web");
  const threads = options.threads ?? 1;
  env.wasm.numThreads = threads;
  env.logLevel = "error";
  const toTensor = ({ data, shape }: HostTensor) =>
    data instanceof Float32Array ? new Tensor("float32", data, shape) : new Tensor("int64", data, shape);
  return {
    name: "wasm",
    async load(model): Promise<Session> {
      const session = await atBoundary("engine", "loading a graph", () =>
        InferenceSession.create(model, {
          executionProviders: ["wasm"],
          graphOptimizationLevel: "all",
          logSeverityLevel: 3,
        }),
      );
      return {
        async run(feeds, into = {}) {
          const inputs = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, toTensor(tensor)]));
          const results = await atBoundary("engine", "running a graph", () => session.run(inputs));
          return Object.fromEntries(
            session.outputNames.map((name) => {
              const data = results[name]!.data as Float32Array;
              const place = into[name]?.data as Float32Array | undefined;
              place?.set(data);
              return [name, place ?? data];
            }),
          );
        },
        release: () => session.release(),
      };
    },
  };
}
