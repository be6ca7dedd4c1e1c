/**
 * What the engine needs of a graph runtime. Two exist with the same contract: the native one (`native.ts`) and the
 * WebAssembly one (`wasm.ts`) for platforms without a native binary.
 */

/** A tensor on its way into or out of a graph. */
export interface HostTensor {
  data: Float32Array | BigInt64Array;
  shape: readonly number[];
}

export interface Session {
  /** Runs once. A result named in `into` is written there; the returned record holds every result. */
  run(feeds: Record<string, HostTensor>, into?: Record<string, HostTensor>): Promise<Record<string, Float32Array>>;
  release(): Promise<void>;
}

export interface Runtime {
  readonly name: "native" | "wasm";
  load(model: Uint8Array): Promise<Session>;
}

export interface RuntimeOptions {
  threads?: number;
  /** ONNX Runtime execution providers in order of preference; anything but "cpu" is untested. */
  executionProviders?: readonly string[];
}
