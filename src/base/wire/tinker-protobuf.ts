/**
 * The Tinker API's messages in protobuf (package tinker_public): the request of a pass, and the results of passes and of
 * sampling. Arrays are raw little-endian bytes, so a long example costs no number-by-number writing.
 */
import type { Example, LossSpec } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";
import { type ProtoWriter, protoFields, protoWriter, varint } from "./protobuf.ts";
import {
  arraysOf,
  fromLossConfig,
  onesFor,
  tensorNames,
  toLossConfig,
  type WireSamples,
  withArrays,
} from "./tinker.ts";

export const protobufType = "application/x-protobuf";

const dtypes = { float32: 1, int64: 2, int32: 3 } as const;

export interface PassRequest {
  modelId: string;
  seqId: number;
  examples: readonly Example[];
  loss: LossSpec;
  forwardOnly: boolean;
}

/** A pass's request in bytes. */
export function encodePass({ modelId, seqId, examples, loss, forwardOnly }: PassRequest): Uint8Array {
  const writer = protoWriter();
  writer.text(1, modelId);
  writer.integer(2, seqId);
  for (const example of examples) {
    writer.message(3, (datum) => {
      datum.message(1, (chunk) => chunk.message(1, (text) => text.bytes(1, bytesOf(example.input))));
      for (const name of arraysOf(loss)) {
        const values = example[name] ?? (name === "weights" ? onesFor(example) : undefined);
        if (values) datum.message(2, (entry) => writeTensor(entry, tensorNames[name], values));
      }
    });
  }
  writer.text(4, loss.name);
  for (const [key, value] of Object.entries(toLossConfig(loss))) {
    writer.message(5, (entry) => {
      entry.text(1, key);
      entry.double(2, value);
    });
  }
  if (forwardOnly) writer.integer(6, 1);
  return writer.finish();
}

function writeTensor(entry: ProtoWriter, name: string, values: Int32Array | Float32Array): void {
  entry.text(1, name);
  entry.message(2, (tensor) => {
    const ids = values instanceof Int32Array;
    tensor.bytes(1, ids ? int64Bytes(values) : bytesOf(values));
    tensor.integer(3, ids ? dtypes.int64 : dtypes.float32);
    tensor.bytes(4, varint(values.length)); // packed
  });
}

/** A pass's request from bytes. */
export function decodePass(message: Uint8Array): PassRequest {
  const request = { modelId: "", seqId: 0, forwardOnly: false };
  const examples: Example[] = [];
  const config: Record<string, number> = {};
  let loss = "";
  for (const { field, number, bytes } of protoFields(message)) {
    if (field === 1) request.modelId = text(bytes);
    else if (field === 2) request.seqId = number;
    else if (field === 3) examples.push(decodeDatum(bytes));
    else if (field === 4) loss = text(bytes);
    else if (field === 5) {
      const [key, value] = mapEntry(bytes);
      config[text(key.bytes)] = value?.number ?? 0;
    } else if (field === 6) request.forwardOnly = number !== 0;
  }
  return { ...request, examples, loss: fromLossConfig(loss, config) };
}

function decodeDatum(message: Uint8Array): Example {
  const chunks: Int32Array[] = [];
  const tensors = new Map<string, Float32Array | Int32Array>();
  for (const { field, bytes } of protoFields(message)) {
    if (field === 1) {
      for (const chunk of protoFields(bytes)) {
        if (chunk.field !== 1) throw new CoaError("usage", "this server takes text only: a chunk holds something else");
        for (const inner of protoFields(chunk.bytes))
          if (inner.field === 1) chunks.push(new Int32Array(words(inner.bytes, 4)));
      }
    } else if (field === 2) {
      const [key, value] = mapEntry(bytes);
      tensors.set(text(key.bytes), decodeTensor(value?.bytes ?? nothing));
    }
  }
  const targets = tensors.get("target_tokens");
  if (!targets) throw new CoaError("format", "a datum has no target_tokens");
  const input = Int32Array.from(chunks.flatMap((ids) => [...ids]));
  return withArrays(input, Int32Array.from(targets), (name) => tensors.get(name) as Float32Array | undefined);
}

function decodeTensor(message: Uint8Array): Float32Array | Int32Array {
  let data: Uint8Array = new Uint8Array();
  let dtype = 0;
  for (const { field, number, bytes } of protoFields(message)) {
    if (field === 1) data = bytes;
    else if (field === 2) throw new CoaError("usage", "sparse tensors are not taken here");
    else if (field === 3) dtype = number;
  }
  if (dtype === dtypes.float32) return new Float32Array(words(data, 4));
  if (dtype === dtypes.int32) return new Int32Array(words(data, 4));
  if (dtype === dtypes.int64) return Int32Array.from(new BigInt64Array(words(data, 8)), Number);
  throw new CoaError("usage", `tensors of dtype ${dtype} are not taken here`);
}

/** A pass's result in bytes: one record whose fields hold all datums one after another. */
export function encodePassResult(
  logprobs: readonly Float32Array[],
  losses: readonly Float32Array[],
  metrics: Readonly<Record<string, number>>,
): Uint8Array {
  const writer = protoWriter();
  writer.text(1, "scalar");
  writer.message(2, (record) => {
    for (const [name, rows] of Object.entries({ elementwise_loss: losses, logprobs })) {
      record.message(2, (entry) => {
        entry.text(1, name);
        entry.message(2, (batched) => {
          batched.bytes(1, Buffer.concat(rows.map(bytesOf)));
          batched.bytes(2, offsetsOf(rows));
          batched.integer(3, dtypes.float32);
        });
      });
    }
    record.integer(3, logprobs.length);
  });
  for (const [key, value] of Object.entries(metrics)) {
    writer.message(3, (entry) => {
      entry.text(1, key);
      entry.double(2, value);
    });
  }
  return writer.finish();
}

export function decodePassResult(message: Uint8Array): { logprobs: Float32Array[]; metrics: Record<string, number> } {
  const logprobs: Float32Array[] = [];
  const metrics: Record<string, number> = {};
  for (const { field, bytes } of protoFields(message)) {
    if (field === 3) {
      const [key, value] = mapEntry(bytes);
      metrics[text(key.bytes)] = value?.number ?? 0;
    }
    if (field !== 2) continue;
    for (const inner of protoFields(bytes)) {
      if (inner.field !== 2) continue;
      const [key, value] = mapEntry(inner.bytes);
      if (text(key.bytes) === "logprobs") for (const row of decodeBatched(value?.bytes ?? nothing)) logprobs.push(row);
    }
  }
  return { logprobs, metrics };
}

function decodeBatched(message: Uint8Array): Float32Array[] {
  let data: Uint8Array = new Uint8Array();
  let offsets = new BigInt64Array();
  for (const { field, bytes } of protoFields(message)) {
    if (field === 1) data = bytes;
    else if (field === 2) offsets = new BigInt64Array(words(bytes, 8));
  }
  return Array.from({ length: Math.max(0, offsets.length - 1) }, (_, at) => {
    const [start, end] = [Number(offsets[at]), Number(offsets[at + 1])];
    if (!(start >= 0 && start <= end && end <= data.length))
      throw new CoaError("format", `row ${at} of an array lies from byte ${start} to ${end} of ${data.length}`);
    return new Float32Array(words(data.subarray(start, end), 4));
  });
}

/** Samples in bytes. */
export function encodeSamples({ sequences, prompt_logprobs, prompt_cache_hit_tokens }: WireSamples): Uint8Array {
  const writer = protoWriter();
  for (const { stop_reason, tokens, logprobs } of sequences) {
    writer.message(1, (sequence) => {
      if (stop_reason === "length") sequence.integer(1, 1);
      sequence.bytes(2, bytesOf(Int32Array.from(tokens)));
      sequence.bytes(3, bytesOf(Float32Array.from(logprobs)));
    });
  }
  if (prompt_logprobs) writer.bytes(2, bytesOf(Float32Array.from(prompt_logprobs, (value) => value ?? Number.NaN)));
  if (prompt_cache_hit_tokens) writer.integer(4, prompt_cache_hit_tokens);
  return writer.finish();
}

/** Samples from bytes. */
export function decodeSamples(message: Uint8Array): WireSamples {
  const result: WireSamples = { sequences: [], prompt_logprobs: null, prompt_cache_hit_tokens: 0 };
  for (const { field, number, bytes } of protoFields(message)) {
    if (field === 1) {
      const sequence: WireSamples["sequences"][number] = { stop_reason: "stop", tokens: [], logprobs: [] };
      for (const inner of protoFields(bytes)) {
        if (inner.field === 1) sequence.stop_reason = inner.number === 1 ? "length" : "stop";
        else if (inner.field === 2) sequence.tokens = [...new Int32Array(words(inner.bytes, 4))];
        else if (inner.field === 3) sequence.logprobs = [...new Float32Array(words(inner.bytes, 4))];
      }
      if (sequence.logprobs.length !== sequence.tokens.length)
        throw new CoaError(
          "format",
          `a sample has ${sequence.tokens.length} tokens and ${sequence.logprobs.length} log-probabilities`,
        );
      result.sequences.push(sequence);
    } else if (field === 2) {
      result.prompt_logprobs = [...new Float32Array(words(bytes, 4))].map((value) =>
        Number.isNaN(value) ? null : value,
      );
    } else if (field === 4) result.prompt_cache_hit_tokens = number;
  }
  return result;
}

function mapEntry(message: Uint8Array) {
  const fields = [...protoFields(message)];
  const key = fields.find(({ field }) => field === 1);
  if (!key) throw new CoaError("format", "a map entry has no key");
  return [key, fields.find(({ field }) => field === 2)] as const;
}

const decoder = new TextDecoder();
const text = (bytes: Uint8Array) => decoder.decode(bytes);

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array | Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Ids as 64-bit numbers without a BigInt for each: the upper half of an id is 0. */
function int64Bytes(ids: Int32Array): Uint8Array {
  const words = new Int32Array(ids.length * 2);
  for (let at = 0; at < ids.length; at++) words[2 * at] = ids[at]!;
  return bytesOf(words);
}

/** Byte offsets of rows of floats: n + 1 numbers. */
function offsetsOf(rows: readonly Float32Array[]): Uint8Array {
  const ends = new Int32Array(rows.length + 1);
  for (const [at, row] of rows.entries()) ends[at + 1] = ends[at]! + row.byteLength;
  return int64Bytes(ends);
}

const nothing = new Uint8Array();

/** A copy that starts at a whole word, which typed arrays need; bytes that are not whole words are refused. */
function words(bytes: Uint8Array, size: number): ArrayBuffer {
  if (bytes.length % size !== 0)
    throw new CoaError("format", `an array of ${size}-byte numbers has ${bytes.length} bytes`);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}
