/** Functions of four floats at a time. */
import { type Code, code, f32, f32x4, get, i32, i32x4, set, type ValueType } from "./assembler.ts";

/** Makes a local of the function under construction. */
export type NewLocal = (type: ValueType) => number;

/** Adding 1.5 * 2^23 to a small float rounds it to an integer, which is then in the low bits. */
const roundingMagic = 12582912;

/**
 * e^x in four lanes, relative error about 1e-7: x = n ln 2 + r, a polynomial for e^r, and n added to the exponent bits.
 * ln 2 is split in two so that the subtraction loses nothing. Below -87 the result is about 1e-38.
 */
export function exponential(local: NewLocal): (x: Code) => Code {
  const shifted = local("v128");
  const power = local("v128");
  const rest = local("v128");
  const sum = local("v128");
  const next = (coefficient: number) => set(sum, f32x4.multiplyAdd(get(sum), get(rest), f32x4.constant(coefficient)));
  return (x) =>
    code(
      set(rest, f32x4.max(f32x4.min(x, f32x4.constant(88)), f32x4.constant(-87))),
      set(shifted, f32x4.multiplyAdd(get(rest), f32x4.constant(Math.LOG2E), f32x4.constant(roundingMagic))),
      set(power, f32x4.sub(get(shifted), f32x4.constant(roundingMagic))),
      set(rest, f32x4.multiplyAdd(get(power), f32x4.constant(-0.693359375), get(rest))),
      set(rest, f32x4.multiplyAdd(get(power), f32x4.constant(2.121944400546906e-4), get(rest))),
      set(sum, f32x4.constant(1 / 5040)),
      ...[1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1].map(next),
      i32x4.add(get(sum), i32x4.shiftLeft(get(shifted), 23)),
    );
}

/** The sum of the four lanes, always in the same order. */
export function sumOfLanes(vector: Code): Code {
  return f32.add(
    f32.add(f32x4.lane(vector, 0), f32x4.lane(vector, 1)),
    f32.add(f32x4.lane(vector, 2), f32x4.lane(vector, 3)),
  );
}

export function maxOfLanes(vector: Code): Code {
  return f32.max(
    f32.max(f32x4.lane(vector, 0), f32x4.lane(vector, 1)),
    f32.max(f32x4.lane(vector, 2), f32x4.lane(vector, 3)),
  );
}

export function addressOf(base: Code, index: Code, bytes: number): Code {
  return i32.add(base, i32.mul(index, i32.constant(bytes)));
}
