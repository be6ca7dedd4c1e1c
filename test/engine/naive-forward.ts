/**
 * The model in plain loops and double precision, one sequence, no cache: slow, obvious, and therefore what the fast
 * paths are checked against.
 */
import type { ModelConfig } from "../../src/engines/embedded/model/config.ts";
import {
  embeddingName,
  finalNormName,
  headName,
  layerNames,
  type ParameterSet,
} from "../../src/engines/embedded/model/parameters.ts";

/** Log-probabilities of every token of the vocabulary after each position; `rounded` is what a product sees of its row. */
export function naiveForward(
  config: ModelConfig,
  parameters: ParameterSet,
  tokens: readonly number[],
  rounded: (row: Float64Array) => Float64Array = (row) => row,
): Float64Array[] {
  const data = (name: string) => parameters.get(name)!.data;
  const { hiddenSize, headSize, heads, kvHeads } = config;
  const multiply = (weights: Float32Array, row: Float64Array, bias?: Float32Array) => {
    const x = rounded(row);
    return Float64Array.from({ length: weights.length / x.length }, (_, out) => {
      let sum = bias?.[out] ?? 0;
      for (let k = 0; k < x.length; k++) sum += weights[out * x.length + k]! * x[k]!;
      return sum;
    });
  };
  const normalise = (x: Float64Array, weight: Float32Array) => {
    const scale = 1 / Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / hiddenSize + config.rmsEpsilon);
    return x.map((value, index) => value * scale * weight[index]!);
  };
  /** Qwen3's norm of each head, by its own size. */
  const normaliseHeads = (x: Float64Array, name: string) => {
    if (!config.qkNorm) return x;
    const squares = (head: number) =>
      x.subarray(head * headSize, (head + 1) * headSize).reduce((sum, value) => sum + value * value, 0);
    return x.map((value, index) => {
      const scale = 1 / Math.sqrt(squares(Math.floor(index / headSize)) / headSize + config.rmsEpsilon);
      return value * scale * data(name)[index % headSize]!;
    });
  };
  const rotate = (x: Float64Array, position: number) => {
    const half = headSize / 2;
    return x.map((value, index) => {
      const within = index % headSize;
      const angle = position * stretched(config, config.ropeTheta ** (-(within % half) / half));
      const partner = within < half ? -x[index + half]! : x[index - half]!;
      return value * Math.cos(angle) + partner * Math.sin(angle);
    });
  };
  const stream = tokens.map((token) =>
    Float64Array.from(data(embeddingName).subarray(token * hiddenSize, (token + 1) * hiddenSize)),
  ); // [position][hidden]
  for (let layer = 0; layer < config.layers; layer++) {
    const names = layerNames(layer);
    const bias = (name: string) => (config.qkvBias ? data(name) : undefined);
    const normed = stream.map((x) => normalise(x, data(names.inputNorm)));
    const queries = normed.map((x, at) =>
      rotate(normaliseHeads(multiply(data(names.queryWeight), x, bias(names.queryBias)), names.queryNorm), at),
    );
    const keys = normed.map((x, at) =>
      rotate(normaliseHeads(multiply(data(names.keyWeight), x, bias(names.keyBias)), names.keyNorm), at),
    );
    const values = normed.map((x) => multiply(data(names.valueWeight), x, bias(names.valueBias)));
    for (const [position, x] of stream.entries()) {
      const attended = new Float64Array(heads * headSize);
      for (let head = 0; head < heads; head++) {
        const kv = Math.floor(head / (heads / kvHeads)) * headSize;
        const scores = keys.slice(0, position + 1).map((key) => {
          let dot = 0;
          for (let i = 0; i < headSize; i++) dot += queries[position]![head * headSize + i]! * key[kv + i]!;
          return dot / Math.sqrt(headSize);
        });
        const probabilities = logSoftmax(scores).map(Math.exp);
        for (const [at, probability] of probabilities.entries())
          for (let i = 0; i < headSize; i++) attended[head * headSize + i]! += probability * values[at]![kv + i]!;
      }
      multiply(data(names.outputWeight), attended).forEach((value, index) => {
        x[index]! += value;
      });
      const inner = normalise(x, data(names.postNorm));
      const gate = multiply(data(names.gateWeight), inner);
      const gated = multiply(data(names.upWeight), inner).map((up, i) => (up * gate[i]!) / (1 + Math.exp(-gate[i]!)));
      multiply(data(names.downWeight), gated).forEach((value, index) => {
        x[index]! += value;
      });
    }
  }
  const head = data(config.tieEmbeddings ? embeddingName : headName);
  return stream.map((x) => logSoftmax(multiply(head, normalise(x, data(finalNormName)))));
}

function logSoftmax(values: ArrayLike<number>): Float64Array {
  const largest = Math.max(...Array.from(values));
  const log = Math.log(Array.from(values).reduce((sum, value) => sum + Math.exp(value - largest), 0));
  return Float64Array.from(values, (value) => value - largest - log);
}

/** Llama 3.1's rule by wavelengths, as transformers writes it. */
function stretched({ ropeScaling }: ModelConfig, frequency: number): number {
  if (!ropeScaling) return frequency;
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContext } = ropeScaling;
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < originalContext / highFrequencyFactor) return frequency;
  if (wavelength > originalContext / lowFrequencyFactor) return frequency / factor;
  const smooth = (originalContext / wavelength - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return ((1 - smooth) * frequency) / factor + smooth * frequency;
}
