/**
 * Runs graphs with onnxruntime-node, which is an optional peer of the package: sampling has kernels of its own, so it is opened by
 * the first graph. `run` blocks its thread, so the engine lives in a worker.
 */
import { availableParallelism } from "node:os";
import { loadPeer } from "../../../base/work/optional-peer.ts";
import { atBoundary } from "../../../core/errors.ts";

/** A tensor on its way into or out of a graph. */
export interface HostTensor {
  data: Float32Array | BigInt64Array;
  shape: readonly number[];
}

export interface Session {
  /** Runs once. Results are copies: memory given for them would be filled beside a copy that comes back all the same. */
  run(feeds: Record<string, HostTensor>): Promise<Record<string, Float32Array>>;
  release(): Promise<void>;
}

export interface Runtime {
  /** Rejects where the package is not installed, or has no binary for the platform. */
  load(model: Uint8Array): Promise<Session>;
}

/** A runtime with so many threads; all cores by default. */
export function openRuntime({ threads = availableParallelism() }: { threads?: number } = {}): Runtime {
  const load = () => import("onnxruntime-node");
  return {
    async load(model): Promise<Session> {
      const { InferenceSession, Tensor } = await atBoundary("engine", "loading ONNX Runtime", () =>
        loadPeer("onnxruntime-node", load),
      );
      const toTensor = ({ data, shape }: HostTensor) =>
        data instanceof Float32Array ? new Tensor("float32", data, shape) : new Tensor("int64", data, shape);
      const session = await atBoundary("engine", "loading a graph", () =>
        InferenceSession.create(model, {
          executionProviders: ["cpu"],
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
        async run(feeds) {
          const inputs = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, toTensor(tensor)]));
          const results = await atBoundary("engine", "running a graph", () => session.run(inputs));
          return Object.fromEntries(Object.entries(results).map(([name, { data }]) => [name, data as Float32Array]));
        },
        release: () => session.release(),
      };
    },
  };
}
