/**
 * Chooses the rule for every tensor and owns the optimizer's memory: AdamW for everything, or Muon for the layers'
 * matrices with AdamW for embeddings, head, norms and biases.
 */
import type { OptimizerStep } from "../../../core/engine.ts";
import { CoaError } from "../../../core/errors.ts";
import { embeddingName, headName, type ParameterSet } from "../model/parameters.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { adamMoments, adamW } from "./adamw.ts";
import { openMuon } from "./muon.ts";

export type OptimizerName = "adamw" | "muon";

export interface Optimizer {
  readonly name: OptimizerName;
  /** Steps taken so far, those before a restored state included. */
  readonly steps: number;
  /** Updates every parameter that has a gradient; returns the norm the gradients had before clipping. */
  step(parameters: ParameterSet, gradients: ReadonlyMap<string, Float32Array>, step: OptimizerStep): Promise<number>;
  /** Everything that must be saved to continue later. */
  state(): { steps: number; tensors: ParameterSet };
  restore(state: { steps: number; tensors: ParameterSet }, source: string): void;
}

export function openOptimizer(name: OptimizerName, parameters: ParameterSet, runtime: Runtime): Optimizer {
  const muon = name === "muon" ? openMuon(runtime) : undefined;
  const usesMuon = (key: string) =>
    muon !== undefined && parameters.get(key)!.shape.length === 2 && key !== embeddingName && key !== headName;
  let steps = 0;
  let memory = new Map<string, { first: Float32Array; second: Float32Array }>();
  const memoryOf = (key: string) => {
    const size = parameters.get(key)!.data.length;
    let entry = memory.get(key);
    // Muon keeps one running mean only.
    if (!entry)
      memory.set(
        key,
        (entry = usesMuon(key) ? { ...adamMoments(0), first: new Float32Array(size) } : adamMoments(size)),
      );
    return entry;
  };
  return {
    name,
    get steps() {
      return steps;
    },
    async step(target, gradients, step) {
      const norm = gradientNorm(gradients);
      const limit = step.gradientClip ?? 0;
      const scale = limit > 0 && norm > limit ? limit / norm : 1;
      steps++;
      const matrices = [];
      for (const [key, gradient] of gradients) {
        const parameter = target.get(key)!;
        if (usesMuon(key)) matrices.push({ parameter, gradient, momentum: memoryOf(key).first });
        else adamW(parameter, gradient, memoryOf(key), step, steps, scale);
      }
      if (matrices.length > 0) await muon!.step(matrices, step, scale);
      return norm;
    },
    state() {
      const tensors: ParameterSet = new Map();
      for (const [key, { first, second }] of memory) {
        const { shape } = parameters.get(key)!;
        tensors.set(`first:${key}`, { shape, data: first });
        if (second.length > 0) tensors.set(`second:${key}`, { shape, data: second });
      }
      return { steps, tensors };
    },
    restore(state, source) {
      const restored: typeof memory = new Map();
      for (const [tensorName, tensor] of state.tensors) {
        const [kind, key] = split(tensorName);
        const expected = parameters.get(key);
        if (!expected || (kind !== "first" && kind !== "second") || expected.data.length !== tensor.data.length) {
          throw new CoaError(
            "format",
            `${source}: tensor ${tensorName} [${tensor.shape}] does not belong to this model`,
          );
        }
        const entry = restored.get(key) ?? { first: new Float32Array(0), second: new Float32Array(0) };
        entry[kind] = Float32Array.from(tensor.data);
        restored.set(key, entry);
      }
      for (const [key, entry] of restored) {
        if (entry.first.length === 0 || (entry.second.length === 0) !== usesMuon(key)) {
          throw new CoaError(
            "format",
            `${source} was written by another optimizer than ${name} (tensor ${key}); open the engine with that one`,
          );
        }
      }
      memory = restored;
      steps = state.steps;
    },
  };
}

/** The Euclidean norm over all gradients; throws, naming the tensor, when one is not a number. */
function gradientNorm(gradients: ReadonlyMap<string, Float32Array>): number {
  let total = 0;
  for (const [key, gradient] of gradients) {
    let squares = 0;
    for (let index = 0; index < gradient.length; index++) squares += gradient[index]! * gradient[index]!;
    if (!Number.isFinite(squares)) {
      throw new CoaError(
        "engine",
        `the gradient of ${key} is not finite; the weights were left as they were. Lower the learning rate or load an earlier state`,
      );
    }
    total += squares;
  }
  return Math.sqrt(total);
}

function split(name: string): [string, string] {
  const colon = name.indexOf(":");
  return [name.slice(0, colon), name.slice(colon + 1)];
}
