/**
 * The two 16-bit floats of model files. bf16 is the upper half of a 32-bit float: same range, 8 bits of precision.
 * f16 (IEEE half) has 11 bits of precision and ends at 65504. Both roundings are to nearest, ties to even, as everywhere.
 */

const scratchFloat = new Float32Array(1);
const scratchBits = new Uint32Array(scratchFloat.buffer);

/** The half-precision bits nearest to a number; beyond 65504 it becomes infinity. */
export function toFloat16Bits(value: number): number {
  scratchFloat[0] = value;
  const bits = scratchBits[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 0xff;
  const fraction = bits & 0x7fffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction ? 0x200 : 0);
  const halfExponent = exponent - 112;
  if (halfExponent >= 31) return sign | 0x7c00;
  if (halfExponent <= 0) {
    if (halfExponent < -10) return sign;
    // A subnormal half: the implicit one becomes visible and everything shifts right.
    return sign | roundShift(fraction | 0x800000, 14 - halfExponent);
  }
  // A carry out of the fraction runs into the exponent, which is exactly what rounding up means.
  return sign | ((halfExponent << 10) + roundShift(fraction, 13));
}

/** `value >> shift`, rounded to nearest with ties to even. */
function roundShift(value: number, shift: number): number {
  const quotient = value >>> shift;
  const remainder = value & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return remainder > half || (remainder === half && quotient & 1) ? quotient + 1 : quotient;
}

/** The number that half-precision bits stand for. */
export function fromFloat16Bits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The bf16 bits nearest to a number. */
export function toBfloat16Bits(value: number): number {
  scratchFloat[0] = value;
  const bits = scratchBits[0]!;
  if (Number.isNaN(value)) return (bits >>> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

let float16Table: Float32Array | undefined;

/** Widens an array of half-precision bits. */
export function widenFloat16(bits: Uint16Array): Float32Array {
  if (!float16Table) {
    float16Table = new Float32Array(65536);
    for (let i = 0; i < 65536; i++) float16Table[i] = fromFloat16Bits(i);
  }
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) values[i] = float16Table[bits[i]!]!;
  return values;
}

/** Widens an array of bf16 bits; exact, since every bf16 is a 32-bit float. */
export function widenBfloat16(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return new Float32Array(words.buffer);
}

/** Narrows an array with one of the two roundings above. */
export function narrow(values: Float32Array, toBits: (value: number) => number): Uint16Array {
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) bits[i] = toBits(values[i]!);
  return bits;
}
