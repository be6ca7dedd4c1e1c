/**
 * Attention of rows over their sequences' cached keys and values. For one row and one key-value head: 32 scores per
 * page come out of eight vector sums over the page's key columns; softmax; then the page's value rows are added with
 * those weights. Query heads that share a key-value head take turns on the page while it is in the first-level cache.
 */
import {
  call,
  code,
  f32,
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
import { type HeadShape, pagePositions, rowBytes } from "./row-kernels.ts";
import { addressOf } from "./vector-math.ts";

const scoreVectors = pagePositions / 4;
/** Head dimensions whose sums are held in registers at once. */
const chunkVectors = 8;

/**
 * `(rows, descriptions, qkv, out, layerOffset, scores)`. `softmaxIndex` is the softmax function's place in the module;
 * `scoreStride` the bytes of score scratch per query head of a group.
 */
export function attentionFunction(shape: HeadShape, scoreStride: number, softmaxIndex: number): WasmFunction {
  const { heads, kvHeads, headWidth } = shape;
  const group = heads / kvHeads;
  const headBytes = headWidth * 4;
  const keyBytes = headWidth * pagePositions * 4;
  return {
    name: "attention",
    parameters: ["i32", "i32", "i32", "i32", "i32", "i32"],
    body: ([rows, descriptions, qkv, out, layerOffset, scores], local) => {
      const count = local("i32"); // positions this row may see
      const table = local("i32");
      const kvHead = local("i32");
      const query = local("i32");
      const result = local("i32");
      const offset = local("i32");
      const entry = local("i32"); // in the page table
      const left = local("i32"); // positions not yet visited
      const here = local("i32"); // scores of the current page
      const page = local("i32");
      const at = local("i32");
      const end = local("i32");
      const queryAt = local("i32");
      const inverse = local("v128");
      const one = local("v128");
      const sums = Array.from({ length: Math.max(scoreVectors, chunkVectors) }, () => local("v128"));

      const eachPage = (body: readonly number[]) =>
        code(
          set(entry, get(table)),
          set(left, get(count)),
          set(here, get(scores!)),
          loopWhile(
            get(left),
            code(
              set(page, i32.add(i32.load(get(entry)), get(offset))),
              body,
              increase(entry, 4),
              increase(here, pagePositions * 4),
              when(i32.ltU(get(left), i32.constant(pagePositions)), set(left, i32.constant(pagePositions))),
              increase(left, -pagePositions),
            ),
          ),
        );

      const scoresOfPage = (member: number) =>
        code(
          ...sums.slice(0, scoreVectors).map((sum) => set(sum, f32x4.constant(0))),
          set(at, get(page)),
          set(end, i32.add(get(page), i32.constant(keyBytes))),
          set(queryAt, get(query)),
          repeat(
            code(
              ...[0, 1].flatMap((step) => [
                set(one, v128.loadSplat(get(queryAt), member * headBytes + step * 4)),
                ...sums
                  .slice(0, scoreVectors)
                  .map((sum, index) =>
                    set(
                      sum,
                      f32x4.multiplyAdd(get(one), v128.load(get(at), (step * scoreVectors + index) * 16), get(sum)),
                    ),
                  ),
              ]),
              increase(at, 2 * pagePositions * 4),
              increase(queryAt, 8),
            ),
            i32.ltU(get(at), get(end)),
          ),
          ...sums
            .slice(0, scoreVectors)
            .map((sum, index) => v128.store(get(here), get(sum), member * scoreStride + index * 16)),
        );

      const valuesOfPage = (member: number, firstVector: number) => {
        const vectors = sums.slice(0, Math.min(chunkVectors, headWidth / 4 - firstVector));
        const resultOffset = (index: number) => member * headBytes + (firstVector + index) * 16;
        return code(
          ...vectors.map((sum, index) => set(sum, v128.load(get(result), resultOffset(index)))),
          set(at, i32.add(get(page), i32.constant(keyBytes + firstVector * 16))),
          set(queryAt, get(here)),
          set(end, get(left)),
          when(i32.ltU(i32.constant(pagePositions), get(end)), set(end, i32.constant(pagePositions))),
          set(end, addressOf(get(here), get(end), 4)),
          repeat(
            code(
              set(one, v128.loadSplat(get(queryAt), member * scoreStride)),
              ...vectors.map((sum, index) =>
                set(sum, f32x4.multiplyAdd(get(one), v128.load(get(at), index * 16), get(sum))),
              ),
              increase(at, headBytes),
              increase(queryAt, 4),
            ),
            i32.ltU(get(queryAt), get(end)),
          ),
          ...vectors.map((sum, index) => v128.store(get(result), get(sum), resultOffset(index))),
        );
      };

      const members = Array.from({ length: group }, (_, member) => member);
      const chunks = Array.from(
        { length: Math.ceil(headWidth / 4 / chunkVectors) },
        (_, index) => index * chunkVectors,
      );
      const wholeResult = members.flatMap((member) =>
        Array.from({ length: headWidth / 4 }, (_, index) => ({ member, offset: member * headBytes + index * 16 })),
      );
      const oneHead = code(
        eachPage(code(...members.map(scoresOfPage))),
        ...wholeResult.map(({ offset: byte }) => v128.store(get(result), f32x4.constant(0), byte)),
        ...members.map((member) => {
          const start = i32.add(get(scores!), i32.constant(member * scoreStride));
          return code(
            set(inverse, f32x4.splat(f32.div(f32.constant(1), call(softmaxIndex, start, get(count), f32.constant(1))))),
            eachPage(code(...chunks.map((chunk) => valuesOfPage(member, chunk)))),
            ...wholeResult
              .filter((place) => place.member === member)
              .map(({ offset: byte }) =>
                v128.store(get(result), f32x4.mul(v128.load(get(result), byte), get(inverse)), byte),
              ),
          );
        }),
      );
      return loopWhile(
        get(rows!),
        code(
          set(count, i32.add(i32.load(get(descriptions!), 0), i32.constant(1))),
          set(table, i32.load(get(descriptions!), 4)),
          set(query, get(qkv!)),
          set(result, get(out!)),
          set(offset, get(layerOffset!)),
          set(kvHead, i32.constant(kvHeads)),
          repeat(
            code(
              oneHead,
              increase(query, group * headBytes),
              increase(result, group * headBytes),
              increase(offset, 2 * keyBytes),
              increase(kvHead, -1),
            ),
            get(kvHead),
          ),
          increase(qkv!, (heads + 2 * kvHeads) * headBytes),
          increase(out!, heads * headBytes),
          increase(descriptions!, rowBytes),
          increase(rows!, -1),
        ),
      );
    },
  };
}
