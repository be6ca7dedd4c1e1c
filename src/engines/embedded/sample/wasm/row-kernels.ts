/**
 * What happens to rows between the matrix products: normalising, turning by position, filing keys and values into the
 * cache, gating, and the softmax. All sizes are padded to whole vectors with zeros, which none of these steps disturbs.
 */
import { code, f32, f32x4, get, i32, increase, loopWhile, repeat, set, v128, type WasmFunction } from "./assembler.ts";
import { panelColumns } from "./matmul.ts";
import { addressOf, exponential, maxOfLanes, sumOfLanes } from "./vector-math.ts";

export const pagePositions = 32;
/** Bytes of a row's description: position, address of its sequence's page table, token. */
export const rowBytes = 12;

/** `(rows, x, weight, out)`: each row divided by its root mean square, times the weight. `width` is padded, `size` real. */
export function rmsNormFunction(name: string, width: number, size: number, epsilon: number): WasmFunction {
  return {
    name,
    parameters: ["i32", "i32", "i32", "i32"],
    body: ([rows, x, weight, out], local) => {
      const squares = local("v128");
      const value = local("v128");
      const at = local("i32");
      const here = (base: number) => i32.add(get(base), get(at));
      return loopWhile(
        get(rows!),
        code(
          set(squares, f32x4.constant(0)),
          set(at, i32.constant(0)),
          repeat(
            code(
              set(value, v128.load(here(x!))),
              set(squares, f32x4.multiplyAdd(get(value), get(value), get(squares))),
              increase(at, 16),
            ),
            i32.ltU(get(at), i32.constant(width * 4)),
          ),
          set(
            squares,
            f32x4.splat(
              f32.div(
                f32.constant(1),
                f32.sqrt(f32.add(f32.div(sumOfLanes(get(squares)), f32.constant(size)), f32.constant(epsilon))),
              ),
            ),
          ),
          set(at, i32.constant(0)),
          repeat(
            code(
              v128.store(here(out!), f32x4.mul(f32x4.mul(v128.load(here(x!)), get(squares)), v128.load(here(weight!)))),
              increase(at, 16),
            ),
            i32.ltU(get(at), i32.constant(width * 4)),
          ),
          increase(x!, width * 4),
          increase(out!, width * 4),
          increase(rows!, -1),
        ),
      );
    },
  };
}

/** `(rows, descriptions, table, out)`: copies each row's embedding out of a matrix packed in panels. */
export function embedFunction(width: number): WasmFunction {
  return {
    name: "embed",
    parameters: ["i32", "i32", "i32", "i32"],
    body: ([rows, descriptions, table, out], local) => {
      const token = local("i32");
      const from = local("i32");
      const at = local("i32");
      return loopWhile(
        get(rows!),
        code(
          set(token, i32.load(get(descriptions!), 8)),
          set(
            from,
            i32.add(
              addressOf(get(table!), i32.divU(get(token), i32.constant(panelColumns)), width * panelColumns * 4),
              i32.shl(i32.and(get(token), i32.constant(panelColumns - 1)), i32.constant(2)),
            ),
          ),
          set(at, get(out!)),
          repeat(
            code(f32.store(get(at), f32.load(get(from))), increase(at, 4), increase(from, panelColumns * 4)),
            i32.ltU(get(at), i32.add(get(out!), i32.constant(width * 4))),
          ),
          increase(out!, width * 4),
          increase(descriptions!, rowBytes),
          increase(rows!, -1),
        ),
      );
    },
  };
}

export interface HeadShape {
  heads: number;
  kvHeads: number;
  headWidth: number;
}

/**
 * `(rows, descriptions, qkv, table, layerOffset)`: turns queries and keys by their position's angles (the first half
 * of a head pairs with the second), then files keys and values into the sequence's page. In a page, keys are stored
 * column by column ([dimension][position]) so that 32 scores come out of whole vectors; values are stored row by row.
 */
export function rotateAndFileFunction({ heads, kvHeads, headWidth }: HeadShape): WasmFunction {
  const half = (headWidth / 2) * 4;
  const headBytes = headWidth * 4;
  const rowStride = (heads + 2 * kvHeads) * headBytes;
  const headCacheBytes = headWidth * pagePositions * 4;
  return {
    name: "rotateAndFile",
    parameters: ["i32", "i32", "i32", "i32", "i32"],
    body: ([rows, descriptions, qkv, table, layerOffset], local) => {
      const position = local("i32");
      const angles = local("i32");
      const head = local("i32");
      const end = local("i32");
      const keys = local("i32");
      const values = local("i32");
      const left = local("v128");
      const right = local("v128");
      const cosine = local("v128");
      const sine = local("v128");
      const turn = Array.from({ length: half / 16 }, (_, index) => {
        const at = index * 16;
        return code(
          set(left, v128.load(get(head), at)),
          set(right, v128.load(get(head), half + at)),
          set(cosine, v128.load(get(angles), at)),
          set(sine, v128.load(get(angles), half + at)),
          v128.store(get(head), f32x4.sub(f32x4.mul(get(left), get(cosine)), f32x4.mul(get(right), get(sine))), at),
          v128.store(
            get(head),
            f32x4.add(f32x4.mul(get(right), get(cosine)), f32x4.mul(get(left), get(sine))),
            half + at,
          ),
        );
      });
      const valueOffset = kvHeads * headBytes;
      const fileKeys = Array.from({ length: headWidth }, (_, index) =>
        f32.store(get(keys), f32.load(get(head), index * 4), index * pagePositions * 4),
      );
      const fileValues = Array.from({ length: headWidth / 4 }, (_, index) =>
        v128.store(get(values), v128.load(get(head), valueOffset + index * 16), index * 16),
      );
      return loopWhile(
        get(rows!),
        code(
          set(position, i32.load(get(descriptions!), 0)),
          set(angles, addressOf(get(table!), get(position), headBytes)),
          set(head, get(qkv!)),
          set(end, i32.add(get(head), i32.constant((heads + kvHeads) * headBytes))),
          repeat(code(...turn, increase(head, headBytes)), i32.ltU(get(head), get(end))),
          // Now at the page of this position, in this layer's part of it.
          set(
            keys,
            i32.add(
              i32.load(
                i32.add(
                  i32.load(get(descriptions!), 4),
                  i32.shl(i32.divU(get(position), i32.constant(pagePositions)), i32.constant(2)),
                ),
              ),
              get(layerOffset!),
            ),
          ),
          set(position, i32.and(get(position), i32.constant(pagePositions - 1))),
          set(values, i32.add(addressOf(get(keys), get(position), headBytes), i32.constant(headCacheBytes))),
          set(keys, addressOf(get(keys), get(position), 4)),
          set(head, i32.add(get(qkv!), i32.constant(heads * headBytes))),
          repeat(
            code(
              ...fileKeys,
              ...fileValues,
              increase(keys, 2 * headCacheBytes),
              increase(values, 2 * headCacheBytes),
              increase(head, headBytes),
            ),
            i32.ltU(get(head), get(end)),
          ),
          increase(qkv!, rowStride),
          increase(descriptions!, rowBytes),
          increase(rows!, -1),
        ),
      );
    },
  };
}

/** `(rows, gateAndUp, out)`: silu(gate) * up; a row of the input is gate then up, each `width` floats. */
export function gateFunction(width: number): WasmFunction {
  return {
    name: "gate",
    parameters: ["i32", "i32", "i32"],
    body: ([rows, input, out], local) => {
      const end = local("i32");
      const value = local("v128");
      const exp = exponential(local);
      return loopWhile(
        get(rows!),
        code(
          set(end, i32.add(get(input!), i32.constant(width * 4))),
          repeat(
            code(
              set(value, v128.load(get(input!))),
              v128.store(
                get(out!),
                f32x4.mul(
                  f32x4.div(get(value), f32x4.add(f32x4.constant(1), exp(f32x4.sub(f32x4.constant(0), get(value))))),
                  v128.load(get(input!), width * 4),
                ),
              ),
              increase(input!, 16),
              increase(out!, 16),
            ),
            i32.ltU(get(input!), get(end)),
          ),
          increase(input!, width * 4),
          increase(rows!, -1),
        ),
      );
    },
  };
}

/**
 * `(x, count, scale) -> sum`: replaces each of `count` floats by e^(scale (x - max)) and returns their sum. The vector
 * that contains the end must be writable.
 */
export function softmaxFunction(): WasmFunction {
  return {
    name: "softmax",
    parameters: ["i32", "i32", "f32"],
    result: "f32",
    body: ([x, count, scale], local) => {
      const at = local("i32");
      const end = local("i32");
      const largest = local("v128");
      const sum = local("v128");
      const value = local("v128");
      const exp = exponential(local);
      return code(
        set(at, addressOf(get(x!), get(count!), 4)),
        set(end, addressOf(get(x!), i32.and(i32.add(get(count!), i32.constant(3)), i32.constant(-4)), 4)),
        loopWhile(
          i32.ltU(get(at), get(end)),
          code(f32.store(get(at), f32.constant(Number.NEGATIVE_INFINITY)), increase(at, 4)),
        ),
        set(largest, f32x4.constant(Number.NEGATIVE_INFINITY)),
        set(at, get(x!)),
        repeat(
          code(set(largest, f32x4.max(get(largest), v128.load(get(at)))), increase(at, 16)),
          i32.ltU(get(at), get(end)),
        ),
        set(largest, f32x4.splat(maxOfLanes(get(largest)))),
        set(sum, f32x4.constant(0)),
        set(at, get(x!)),
        repeat(
          code(
            set(value, exp(f32x4.mul(f32x4.splat(get(scale!)), f32x4.sub(v128.load(get(at)), get(largest))))),
            v128.store(get(at), get(value)),
            set(sum, f32x4.add(get(sum), get(value))),
            increase(at, 16),
          ),
          i32.ltU(get(at), get(end)),
        ),
        // Lanes past the end hold about 1e-38, which no sum of at least one 1 can notice.
        sumOfLanes(get(sum)),
      );
    },
  };
}
