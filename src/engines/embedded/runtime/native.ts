/** Runs graphs with onnxruntime-node. `run` blocks its thread, so the engine lives in a worker. */
import { availableParallelism } from "node:os";
import { atBoundary } from "../../../core/errors.ts";
import type { HostTensor, Runtime, RuntimeOptions, Session } from "./runtime.ts";

/** Opens the native runtime; rejects where no binary exists for the platform. */
export async function openNativeRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { InferenceSession, Tensor } = await import("onnxruntime-node");
  const threads = options.threads ?? availableParallelism();
  const toTensor = ({ data, shape }: HostTensor) =>
    data instanceof Float32Array ? new Tensor("float32", data, shape) : new Tensor("int64", data, shape);
  return {
    name: "native",
    async load(model): Promise<Session> {
      const session = await atBoundary("engine", "loading a graph", () =>
        InferenceSession.create(model, {
          executionProviders: [...(options.executionProviders ?? ["cpu"])],
          intraOpNumThreads: threads,
          interOpNumThreads: 1,
          executionMode: "sequential",
          graphOptimizationLevel: "all",
          // Batches come in many shapes; a memory plan kept for each of them costs more than it saves.
          enableMemPattern: false,
          logSeverityLevel: 3,
          extra: {
            // What a graph computes twice it computes twice on purpose, to keep it no longer than needed.
            optimization: { disable_specified_optimizers: "CommonSubexpressionElimination" },
            session: {
              // Spinning longer gains nothing on idle cores and costs much when tools or the sampler share them.
              "intra_op.spin_duration_us": "50",
              force_spinning_stop: "1",
              // Denormal numbers are slow and worth nothing here.
              set_denormal_as_zero: "1",
            },
          },
        }),
      );
      return {
        async run(feeds, into = {}) {
          const inputs = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, toTensor(tensor)]));
          const fetches = Object.fromEntries(
            session.outputNames.map((name) => [name, into[name] ? toTensor(into[name]) : null]),
          );
          const results = await atBoundary("engine", "running a graph", () => session.run(inputs, fetches));
          return Object.fromEntries(
            session.outputNames.map((name) => {
              // A result with a place of its own was written there; the tensor returned for it is another copy.
              return [name, (into[name]?.data ?? results[name]!.data) as Float32Array];
            }),
          );
        },
        release: () => session.release(),
      };
    },
  };
}
