/**
 * A model's weights by Hugging Face name, in Hugging Face layout: projections are [out, in], row after row. The same map
 * is what the training graph reads, what the sampler decodes with and what the files hold, so nothing is ever renamed or
 * transposed on the way.
 */

/** One weight tensor, row-major. */
export interface Parameter {
  shape: number[];
  data: Float32Array;
  /** Some of the numbers, where they are read from a file whenever they are asked for. */
  read?(start: number, end: number): Float32Array;
}

/** All numbers, or pieces of whole rows where they are read from a file: an embedding takes 1 GB and is needed row by row. */
export function* piecesOf(parameter: Parameter): Generator<{ start: number; numbers: Float32Array }> {
  const { shape, read } = parameter;
  if (!read) return yield { start: 0, numbers: parameter.data };
  const [rows, width = 1] = shape as [number, number?];
  const step = Math.ceil(2 ** 20 / width);
  for (let row = 0; row < rows; row += step)
    yield { start: row * width, numbers: read(row * width, Math.min(rows, row + step) * width) };
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Weights keyed by Hugging Face tensor name. */
export type ParameterSet = Map<string, Parameter>;

/** The Hugging Face names of one layer's tensors. */
export function layerNames(layer: number) {
  const prefix = `model.layers.${layer}`;
  return {
    inputNorm: `${prefix}.input_layernorm.weight`,
    queryWeight: `${prefix}.self_attn.q_proj.weight`,
    queryBias: `${prefix}.self_attn.q_proj.bias`,
    keyWeight: `${prefix}.self_attn.k_proj.weight`,
    keyBias: `${prefix}.self_attn.k_proj.bias`,
    queryNorm: `${prefix}.self_attn.q_norm.weight`,
    keyNorm: `${prefix}.self_attn.k_norm.weight`,
    valueWeight: `${prefix}.self_attn.v_proj.weight`,
    valueBias: `${prefix}.self_attn.v_proj.bias`,
    outputWeight: `${prefix}.self_attn.o_proj.weight`,
    postNorm: `${prefix}.post_attention_layernorm.weight`,
    gateWeight: `${prefix}.mlp.gate_proj.weight`,
    upWeight: `${prefix}.mlp.up_proj.weight`,
    downWeight: `${prefix}.mlp.down_proj.weight`,
  };
}

export const embeddingName = "model.embed_tokens.weight";
export const finalNormName = "model.norm.weight";
/** The output projection of a model that does not tie it to the embedding. */
export const headName = "lm_head.weight";
