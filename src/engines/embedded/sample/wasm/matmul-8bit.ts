/**
 * Rows times a weight matrix of 8 bits. A weight is a byte times the scale of its group: 64 inputs of one output. A row is turned into
 * integers of 16 bits with one scale, so what is lost is lost in the weights alone. Products and sums inside a group are exact
 * integers; each group's sum is scaled and added in the same order whatever else is in the batch, as in matmul.ts.
 *
 * A panel is 8 output columns: per group 8 scales, then for every two inputs the 16 bytes of those inputs.
 */
import {
  type Code,
  code,
  f32,
  f32x4,
  get,
  i32,
  i32x4,
  increase,
  loopWhile,
  repeat,
  set,
  v128,
  type WasmFunction,
} from "./assembler.ts";
import { type BlockPlace, type MatmulMode, panelColumns, panelFunction, storeSums } from "./matmul.ts";
import { rowBytes } from "./row-kernels.ts";
import { addressOf, maxOfLanes } from "./vector-math.ts";

/** Inputs that share a scale. */
export const groupInputs = 64;
/** Bytes of one group of a panel. */
const groupBytes = panelColumns * (4 + groupInputs);
/** The scales come first. */
const scaleBytes = 4 * panelColumns;
/** Bytes before the integers of a row: its scale. */
const rowHead = 16;
const groupsOf = (depth: number) => Math.ceil(depth / groupInputs);
/** Bytes of a row of `depth` integers with its scale; rows are filled up to whole groups. */
export const integerRowBytes = (depth: number): number => rowHead + 2 * groupsOf(depth) * groupInputs;
/** Bytes of a panel whose columns have `depth` inputs. */
export const panelBytes8 = (depth: number): number => groupsOf(depth) * groupBytes;

/** Sums and totals of four rows are what the registers hold. */
const maxRows = 4;
const unroll = 4; // pairs of inputs
const largestInteger = 32767;

/** `(rows, x, out)`: rows of `depth` floats, a multiple of 8, become rows of integers. */
export function integersFunction(name: string, depth: number): WasmFunction {
  return {
    name,
    parameters: ["i32", "i32", "i32"],
    body: ([rows, x, out], local) => {
      const at = local("i32");
      const end = local("i32");
      const largest = local("v128");
      const scale = local("f32");
      const rounded = (offset: number) => i32x4.round(f32x4.mul(v128.load(get(at), offset), get(largest)));
      return loopWhile(
        get(rows!),
        code(
          set(at, get(x!)),
          set(end, i32.add(get(x!), i32.constant(depth * 4))),
          set(largest, f32x4.constant(1e-20)),
          repeat(
            code(set(largest, f32x4.max(get(largest), f32x4.absolute(v128.load(get(at))))), increase(at, 16)),
            i32.ltU(get(at), get(end)),
          ),
          set(scale, f32.div(maxOfLanes(get(largest)), f32.constant(largestInteger))),
          v128.store(get(out!), f32x4.splat(get(scale))),
          set(largest, f32x4.splat(f32.div(f32.constant(1), get(scale)))),
          increase(out!, rowHead),
          set(at, get(x!)),
          repeat(
            code(v128.store(get(out!), i32x4.narrow(rounded(0), rounded(16))), increase(at, 32), increase(out!, 16)),
            i32.ltU(get(at), get(end)),
          ),
          ...Array.from({ length: (groupsOf(depth) * groupInputs - depth) / 8 }, (_, index) =>
            v128.store(get(out!), f32x4.constant(0), index * 16),
          ),
          increase(out!, 2 * (groupsOf(depth) * groupInputs - depth)),
          set(x!, get(end)),
          increase(rows!, -1),
        ),
      );
    },
  };
}

/** As `matmulFunction`, for rows of integers and a matrix of bytes. */
export function matmul8Function(name: string, depth: number, mode: MatmulMode): WasmFunction {
  const rowStride = integerRowBytes(depth);
  return panelFunction(name, (local) => {
    const [aNow, bNow, groupEnd] = [local("i32"), local("i32"), local("i32")];
    const sums = Array.from({ length: maxRows * 2 }, () => local("v128"));
    const totals = Array.from({ length: maxRows * 2 }, () => local("v128"));
    const weights = [local("v128"), local("v128")] as const;
    const one = local("v128");
    const block = (count: number, place: BlockPlace): Code => {
      const used = sums.slice(0, count * 2);
      const step = (pair: number): Code =>
        code(
          set(weights[0], v128.loadBytes(get(bNow), scaleBytes + pair * 16)),
          set(weights[1], v128.loadBytes(get(bNow), scaleBytes + pair * 16 + 8)),
          ...Array.from({ length: count }, (_, row) =>
            code(
              set(one, v128.loadSplat(get(aNow), row * rowStride + rowHead + pair * 4)),
              ...[0, 1].map((half) => {
                const sum = used[row * 2 + half]!;
                return set(sum, i32x4.add(get(sum), i32x4.dotPairs(get(one), get(weights[half]!))));
              }),
            ),
          ),
        );
      const group = code(
        ...used.map((sum) => set(sum, f32x4.constant(0))),
        set(groupEnd, i32.add(get(bNow), i32.constant(groupBytes - scaleBytes))),
        repeat(
          code(
            ...Array.from({ length: unroll }, (_, pair) => step(pair)),
            increase(aNow, unroll * 4),
            increase(bNow, unroll * 16),
          ),
          i32.ltU(get(bNow), get(groupEnd)),
        ),
        // The group's scales lie before its bytes.
        ...[0, 1].map((half) =>
          set(weights[half]!, v128.load(i32.sub(get(bNow), i32.constant(groupBytes - scaleBytes - half * 16)))),
        ),
        ...used.map((sum, index) =>
          set(
            totals[index]!,
            f32x4.multiplyAdd(f32x4.fromIntegers(get(sum)), get(weights[index % 2]!), get(totals[index]!)),
          ),
        ),
        increase(bNow, scaleBytes),
      );
      return code(
        ...totals.slice(0, count * 2).map((total) => set(total, f32x4.constant(0))),
        set(aNow, get(place.aRow)),
        set(bNow, get(place.b)),
        repeat(group, i32.ltU(get(bNow), get(place.bEnd))),
        ...used.map((_, index) => {
          const row = index >> 1;
          const scale = v128.loadSplat(get(place.aRow), row * rowStride);
          return storeSums(place, { mode, row, half: index % 2 }, (addend) =>
            f32x4.multiplyAdd(get(totals[index]!), scale, addend),
          );
        }),
      );
    };
    return { rowStride, panelBytes: panelBytes8(depth), maxRows, block };
  });
}

/** `(rows, descriptions, table, out)`: as `embedFunction`, out of a matrix of bytes. */
export function embed8Function(width: number): WasmFunction {
  return {
    name: "embed",
    parameters: ["i32", "i32", "i32", "i32"],
    body: ([rows, descriptions, table, out], local) => {
      const token = local("i32");
      const from = local("i32");
      const end = local("i32");
      const rowEnd = local("i32");
      const scale = local("f32");
      const value = (offset: number) => f32.mul(get(scale), f32.fromInteger(i32.loadByte(get(from), offset)));
      return loopWhile(
        get(rows!),
        code(
          set(token, i32.load(get(descriptions!), 8)),
          set(end, addressOf(get(table!), i32.divU(get(token), i32.constant(panelColumns)), panelBytes8(width))),
          set(token, i32.and(get(token), i32.constant(panelColumns - 1))),
          set(rowEnd, i32.add(get(out!), i32.constant(width * 4))),
          repeat(
            code(
              set(scale, f32.load(addressOf(get(end), get(token), 4))),
              set(from, addressOf(i32.add(get(end), i32.constant(scaleBytes)), get(token), 2)),
              increase(end, groupBytes),
              loopWhile(
                i32.and(i32.ltU(get(from), get(end)), i32.ltU(get(out!), get(rowEnd))),
                code(
                  f32.store(get(out!), value(0)),
                  f32.store(get(out!), value(1), 4),
                  increase(from, 2 * panelColumns),
                  increase(out!, 8),
                ),
              ),
            ),
            i32.ltU(get(out!), get(rowEnd)),
          ),
          increase(descriptions!, rowBytes),
          increase(rows!, -1),
        ),
      );
    },
  };
}

/** Writes one column of a packed matrix: `inputs` has whole groups, `panel` is the address of the column's panel. */
export function packColumn8(
  { floats, bytes }: { floats: Float32Array; bytes: Int8Array },
  panel: number,
  column: number,
  inputs: Float32Array,
): void {
  for (let start = 0, at = panel; start < inputs.length; start += groupInputs, at += groupBytes) {
    let largest = 1e-20;
    for (let index = start; index < start + groupInputs; index++) largest = Math.max(largest, Math.abs(inputs[index]!));
    floats[at / 4 + column] = largest / 127;
    const first = at + scaleBytes + 2 * column;
    for (let index = 0; index < groupInputs; index++) {
      const value = (inputs[start + index]! * 127) / largest;
      bytes[first + (index >> 1) * 2 * panelColumns + (index & 1)] = value < 0 ? value - 0.5 : value + 0.5;
    }
  }
}

/** A row as long as whole groups. */
export const groupedRow = (depth: number): Float32Array => new Float32Array(groupsOf(depth) * groupInputs);
