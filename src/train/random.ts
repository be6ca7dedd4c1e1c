/** Seeded randomness for the loops. Streams are named, so that step 7 draws the same numbers whether or not 6 ran here. */

/** A generator of numbers in [0, 1) for a seed and a name (sfc32 over a string hash). */
export function randomStream(seed: number, ...name: (string | number)[]): () => number {
  let [a, b, c, d] = hash128(`${seed}/${name.join("/")}`);
  const next = (): number => {
    const t = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t;
    return ((t + c) >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

/** A whole number for seeding somebody else's generator. */
export function derivedSeed(seed: number, ...name: (string | number)[]): number {
  return Math.floor(randomStream(seed, ...name)() * 2 ** 31);
}

function hash128(text: string): [number, number, number, number] {
  const state: [number, number, number, number] = [1_779_033_703, 3_144_134_277, 1_013_904_242, 2_773_480_762];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    for (let k = 0; k < 4; k++) state[k] = Math.imul((state[k] as number) ^ code ^ (k * 0x9e37), 0x01000193 + k * 2);
  }
  return state;
}
