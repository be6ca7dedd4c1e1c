/**
 * Rows times a weight matrix. The matrix is packed into panels of 8 output columns, each panel holding, for every input
 * k, the 8 weights of that input: a panel fits the first-level cache and is used by all rows before the next is
 * touched. Six rows at a time keep 12 sums of 4 lanes in registers. Every sum runs over k in the same order whether its
 * row is alone or among others, so a row's result does not depend on the other rows of the batch, to the last bit.
 */
import {
  type Code,
  code,
  f32x4,
  get,
  i32,
  increase,
  loopWhile,
  repeat,
  set,
  v128,
  type WasmFunction,
  when,
} from "./assembler.ts";
import type { NewLocal } from "./vector-math.ts";

export const panelColumns = 8;
const maxRows = 6;
const unroll = 4;

/** `set`: c = a·B + bias; `add`: c += a·B. */
export type MatmulMode = "set" | "add";

/** Where the block of rows that is computed now reads and writes: addresses, as locals. */
export interface BlockPlace {
  aRow: number;
  cRow: number;
  bias: number;
  stride: number;
  b: number;
  bEnd: number;
}

/** What two products of rows and panels differ in. */
export interface PanelProduct {
  rowStride: number;
  panelBytes: number;
  maxRows: number;
  /** Code for a block of `count` rows and one panel. */
  block: (count: number, place: BlockPlace) => Code;
}

/** The function `(a, b, bias, c, rows, panels, cStrideBytes)`: every panel with every row, as many rows at a time as fit. */
export function panelFunction(name: string, product: (local: NewLocal) => PanelProduct): WasmFunction {
  return {
    name,
    parameters: ["i32", "i32", "i32", "i32", "i32", "i32", "i32"],
    body: ([a, b, bias, c, rows, panels, stride], local) => {
      const rowsLeft = local("i32");
      const [aRow, cRow, bEnd] = [local("i32"), local("i32"), local("i32")];
      const { rowStride, panelBytes, maxRows, block } = product(local);
      const place = { aRow, cRow, bias: bias!, stride: stride!, b: b!, bEnd };
      return loopWhile(
        get(panels!),
        code(
          set(bEnd, i32.add(get(b!), i32.constant(panelBytes))),
          set(rowsLeft, get(rows!)),
          set(aRow, get(a!)),
          set(cRow, get(c!)),
          loopWhile(
            i32.geU(get(rowsLeft), i32.constant(maxRows)),
            code(
              block(maxRows, place),
              increase(aRow, maxRows * rowStride),
              set(cRow, i32.add(get(cRow), i32.mul(get(stride!), i32.constant(maxRows)))),
              increase(rowsLeft, -maxRows),
            ),
          ),
          ...Array.from({ length: maxRows - 1 }, (_, rest) =>
            when(i32.equal(get(rowsLeft), i32.constant(rest + 1)), block(rest + 1, place)),
          ),
          set(b!, get(bEnd)),
          increase(bias!, panelColumns * 4),
          increase(c!, panelColumns * 4),
          increase(panels!, -1),
        ),
      );
    },
  };
}

/** Stores sums of a row's panel, half of it at a time, with what they are added to; `scaled` adds one addend. */
export function storeSums(
  { cRow, bias, stride }: BlockPlace,
  { mode, row, half }: { mode: MatmulMode; row: number; half: number },
  scaled: (addend: Code) => Code,
): Code {
  const at = row === 0 ? get(cRow) : i32.add(get(cRow), i32.mul(get(stride), i32.constant(row)));
  return v128.store(at, scaled(v128.load(mode === "set" ? get(bias) : at, half * 16)), half * 16);
}

/** The product with rows of `depth` floats; `depth` is a multiple of 4 and the distance between rows of `a`. */
export function matmulFunction(name: string, depth: number, mode: MatmulMode): WasmFunction {
  return panelFunction(name, (local) => {
    const [aNow, bNow] = [local("i32"), local("i32")];
    const sums = Array.from({ length: maxRows * 2 }, () => local("v128"));
    const weights = [local("v128"), local("v128")] as const;
    const one = local("v128");
    const block = (count: number, place: BlockPlace): Code => {
      const used = sums.slice(0, count * 2);
      const step = (k: number): Code =>
        code(
          set(weights[0], v128.load(get(bNow), k * panelColumns * 4)),
          set(weights[1], v128.load(get(bNow), k * panelColumns * 4 + 16)),
          ...Array.from({ length: count }, (_, row) =>
            code(
              set(one, v128.loadSplat(get(aNow), (row * depth + k) * 4)),
              set(used[row * 2]!, f32x4.multiplyAdd(get(one), get(weights[0]), get(used[row * 2]!))),
              set(used[row * 2 + 1]!, f32x4.multiplyAdd(get(one), get(weights[1]), get(used[row * 2 + 1]!))),
            ),
          ),
        );
      return code(
        ...used.map((sum) => set(sum, f32x4.constant(0))),
        set(aNow, get(place.aRow)),
        set(bNow, get(place.b)),
        repeat(
          code(
            ...Array.from({ length: unroll }, (_, k) => step(k)),
            increase(aNow, unroll * 4),
            increase(bNow, unroll * panelColumns * 4),
          ),
          i32.ltU(get(bNow), get(place.bEnd)),
        ),
        ...used.map((sum, index) =>
          storeSums(place, { mode, row: index >> 1, half: index % 2 }, (addend) => f32x4.add(get(sum), addend)),
        ),
      );
    };
    return { rowStride: depth * 4, panelBytes: depth * panelColumns * 4, maxRows, block };
  });
}
