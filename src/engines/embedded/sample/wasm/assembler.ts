/// <reference path="./webassembly.d.ts" />
/**
 * A small assembler for WebAssembly. Code is a list of bytes; every instruction is a function from the code of its
 * operands to code, so an expression reads as it is computed: `f32.add(get(x), f32.constant(1))`. Only what the decoder
 * needs is here: 32-bit integers, floats, four-lane vectors, loops, and modules that import one shared memory.
 */

export type Code = readonly number[];
export type ValueType = "i32" | "f32" | "v128";

const typeByte: Record<ValueType, number> = { i32: 0x7f, f32: 0x7d, v128: 0x7b };

export function code(...pieces: readonly Code[]): Code {
  return pieces.flat();
}

/** Unsigned LEB128, the integers of the binary format. */
function unsigned(value: number): number[] {
  const bytes: number[] = [];
  do {
    const rest = Math.floor(value / 128);
    bytes.push((value % 128) | (rest ? 0x80 : 0));
    value = rest;
  } while (value);
  return bytes;
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  for (;;) {
    const byte = value & 0x7f;
    value >>= 7;
    if ((value === 0 && !(byte & 0x40)) || (value === -1 && byte & 0x40)) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

function floatBytes(value: number): number[] {
  return [...new Uint8Array(Float32Array.of(value).buffer)];
}

const binary = (opcode: number) => (a: Code, b: Code) => code(a, b, [opcode]);
const simd = (opcode: number) => [0xfd, ...unsigned(opcode)];
const simdUnary = (opcode: number) => (a: Code) => code(a, simd(opcode));
const simdBinary = (opcode: number) => (a: Code, b: Code) => code(a, b, simd(opcode));
/** Alignment is a hint; 2 (four bytes) is true of every address here. */
const memoryArgument = (offset: number) => [2, ...unsigned(offset)];

export const i32 = {
  constant: (value: number): Code => [0x41, ...signed(value | 0)],
  add: binary(0x6a),
  sub: binary(0x6b),
  mul: binary(0x6c),
  divU: binary(0x6e),
  and: binary(0x71),
  shl: binary(0x74),
  shrU: binary(0x76),
  ltU: binary(0x49),
  geU: binary(0x4f),
  equal: binary(0x46),
  load: (address: Code, offset = 0): Code => code(address, [0x28, ...memoryArgument(offset)]),
  /** One signed byte. */
  loadByte: (address: Code, offset = 0): Code => code(address, [0x2c, 0, ...unsigned(offset)]),
};

export const f32 = {
  constant: (value: number): Code => [0x43, ...floatBytes(value)],
  add: binary(0x92),
  sub: binary(0x93),
  mul: binary(0x94),
  div: binary(0x95),
  max: binary(0x97),
  sqrt: (a: Code): Code => code(a, [0x91]),
  fromInteger: (a: Code): Code => code(a, [0xb2]),
  load: (address: Code, offset = 0): Code => code(address, [0x2a, ...memoryArgument(offset)]),
  store: (address: Code, value: Code, offset = 0): Code => code(address, value, [0x38, ...memoryArgument(offset)]),
};

export const v128 = {
  load: (address: Code, offset = 0): Code => code(address, simd(0), memoryArgument(offset)),
  /** Loads one float and repeats it in all four lanes. */
  loadSplat: (address: Code, offset = 0): Code => code(address, simd(9), memoryArgument(offset)),
  /** Loads eight signed bytes as eight 16-bit integers. */
  loadBytes: (address: Code, offset = 0): Code => code(address, simd(1), [0, ...unsigned(offset)]),
  store: (address: Code, value: Code, offset = 0): Code => code(address, value, simd(11), memoryArgument(offset)),
};

export const i32x4 = {
  add: simdBinary(174),
  /** Eight products of 16-bit integers, neighbours added. */
  dotPairs: simdBinary(186),
  /** The integers nearest to four floats. */
  round: (a: Code): Code => code(a, simd(106), simd(248)),
  /** Eight 16-bit integers from two vectors. */
  narrow: simdBinary(133),
  shiftLeft: (a: Code, bits: number): Code => code(a, i32.constant(bits), simd(171)),
};

let relaxedSimd: boolean | undefined;

/** Fused multiply-add is part of relaxed SIMD, which engines before 2023 lack; they get two roundings instead of one. */
function hasRelaxedSimd(): boolean {
  relaxedSimd ??= WebAssembly.validate(
    assembleModule([
      { name: "f", parameters: ["v128"], result: "v128", body: ([a]) => relaxedMadd(get(a!), get(a!), get(a!)) },
    ]),
  );
  return relaxedSimd;
}

function relaxedMadd(a: Code, b: Code, c: Code): Code {
  return code(a, b, c, simd(0x105));
}

export const f32x4 = {
  splat: simdUnary(19),
  constant: (value: number): Code => [...simd(12), ...[0, 0, 0, 0].flatMap(() => floatBytes(value))],
  add: simdBinary(228),
  sub: simdBinary(229),
  mul: simdBinary(230),
  div: simdBinary(231),
  absolute: simdUnary(224),
  fromIntegers: simdUnary(250),
  /** The smaller (larger) of two lanes in one machine instruction; the first operand's not-a-number stays. */
  min: simdBinary(234),
  max: simdBinary(235),
  multiplyAdd: (a: Code, b: Code, c: Code): Code =>
    hasRelaxedSimd() ? relaxedMadd(a, b, c) : f32x4.add(f32x4.mul(a, b), c),
  lane: (a: Code, index: number): Code => code(a, simd(31), [index]),
};

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number, value: Code): Code => code(value, [0x21, ...unsigned(local)]);
export const call = (functionIndex: number, ...operands: Code[]): Code =>
  code(...operands, [0x10, ...unsigned(functionIndex)]);

/** Runs the body when the condition is not 0. */
export function when(condition: Code, body: Code): Code {
  return code(condition, [0x04, 0x40], body, [0x0b]);
}

/** Runs the body at least once, and again while the condition (unsigned, after `advance`) holds. */
export function repeat(body: Code, again: Code): Code {
  return code([0x03, 0x40], body, again, [0x0d, 0x00, 0x0b]);
}

/** Runs the body while the condition holds, perhaps never. */
export function loopWhile(condition: Code, body: Code): Code {
  return code([0x02, 0x40, 0x03, 0x40], condition, [0x45, 0x0d, 0x01], body, [0x0c, 0x00, 0x0b, 0x0b]);
}

export function increase(local: number, amount: number): Code {
  return set(local, i32.add(get(local), i32.constant(amount)));
}

export interface WasmFunction {
  name: string;
  parameters: readonly ValueType[];
  result?: ValueType;
  /** Given the parameters' locals and a way to make more, writes the code. */
  body: (parameters: number[], local: (type: ValueType) => number) => Code;
}

const section = (id: number, content: Code): number[] => [id, ...unsigned(content.length), ...content];
const vector = (items: readonly Code[]): number[] => [...unsigned(items.length), ...items.flat()];
const nameBytes = (text: string): number[] => {
  const bytes = [...new TextEncoder().encode(text)];
  return [...unsigned(bytes.length), ...bytes];
};

/** A module with these functions, all exported; with `maximumPages` it imports the shared memory `env.memory`. */
export function assembleModule(functions: readonly WasmFunction[], maximumPages?: number): Uint8Array<ArrayBuffer> {
  const types = functions.map((f) => [
    0x60,
    ...vector(f.parameters.map((type) => [typeByte[type]])),
    ...vector(f.result ? [[typeByte[f.result]]] : []),
  ]);
  const bodies = functions.map((f) => {
    const locals: ValueType[] = [];
    const local = (type: ValueType) => f.parameters.length + locals.push(type) - 1;
    const instructions = f.body(
      f.parameters.map((_, index) => index),
      local,
    );
    const content = [...vector(locals.map((type) => [1, typeByte[type]])), ...instructions, 0x0b];
    return [...unsigned(content.length), ...content];
  });
  const memory =
    maximumPages === undefined
      ? []
      : section(2, vector([[...nameBytes("env"), ...nameBytes("memory"), 2, 3, 0, ...unsigned(maximumPages)]]));
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(types)),
    ...memory,
    ...section(3, vector(functions.map((_, index) => unsigned(index)))),
    ...section(7, vector(functions.map((f, index) => [...nameBytes(f.name), 0, ...unsigned(index)]))),
    ...section(10, vector(bodies)),
  ]);
}
