/**
 * bf16, the 16-bit float of model files that JavaScript has no array for (f16 is `Float16Array`): the upper half of a 32-bit
 * float, same range, 8 bits of precision. Rounding is to nearest, ties to even, as everywhere.
 */

/** Widens bf16 bits; exact, since every bf16 is a 32-bit float. */
export function widenBfloat16(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return new Float32Array(words.buffer);
}

/** The nearest bf16 bits of each number. */
export function narrowBfloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  const words = new Uint32Array(Float32Array.from(values).buffer);
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) {
    const word = words[i]!;
    // Not a number stays so: its upper half alone could be an infinity.
    bits[i] = Number.isNaN(values[i]!) ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return bits;
}
