/**
 * Seeded randomness whose whole state is four 32-bit numbers, so that a saved training state continues exactly where it
 * was. The generator is xoshiro128**.
 */

/** A generator of uniform and normal numbers with a state that can be read and restored. */
export interface Random {
  /** In [0, 1), 32 bits. */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
  state(): number[];
}

/** Starts a generator from a seed, or continues one from its `state()`. */
export function seededRandom(seed: number | readonly number[]): Random {
  const words = typeof seed === "number" ? spread(seed) : Uint32Array.from(seed);
  const next = (): number => {
    const [a, b, c, d] = words as unknown as [number, number, number, number];
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const third = (c ^ a) >>> 0;
    const fourth = (d ^ b) >>> 0;
    words[1] = b ^ third;
    words[0] = a ^ fourth;
    words[2] = third ^ (b << 9);
    words[3] = rotate(fourth, 11);
    return result;
  };
  const uniform = () => next() / 4294967296;
  return {
    uniform,
    // Box-Muller, one of the two values: keeping the other would be state outside `words`.
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    state: () => [...words],
  };
}

function rotate(value: number, bits: number): number {
  return ((value << bits) | (value >>> (32 - bits))) >>> 0;
}

/** Spreads one number over the four state words (splitmix32), so that near seeds give unrelated streams. */
function spread(seed: number): Uint32Array {
  const words = new Uint32Array(4);
  let state = (Math.floor(seed) ^ Math.floor(seed / 4294967296)) >>> 0;
  for (let index = 0; index < 4; index++) {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    words[index] = (mixed ^ (mixed >>> 15)) >>> 0;
  }
  return words;
}
