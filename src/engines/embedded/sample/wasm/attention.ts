/**
 * Attention of rows over their sequences' cached keys and values, in one pass. A page's part of a layer is contiguous,
 * and is read once, in order: for each head its keys give 32 scores (eight vector sums over key columns), the scores
 * become weights against the largest score seen so far, and the page's values are added with those weights. When a page
 * raises the largest score, what was summed before is scaled down by the right factor, so the result is an exact
 * softmax. Reading in order matters more than anything else here: caches of many sequences lie in main memory.
 */
import {
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
import { addressOf, exponential, maxOfLanes, sumOfLanes } from "./vector-math.ts";

const scoreVectors = pagePositions / 4;
/** Head dimensions whose sums are held in registers at once. */
const chunkVectors = 8;
const scoreBytes = pagePositions * 4;

/** Bytes of scratch: one page's scores, then a largest score and a sum per head. */
export function attentionScratchBytes(heads: number): number {
  return scoreBytes + heads * 8;
}

/** `(rows, descriptions, qkv, out, layerOffset, scratch)`. */
export function attentionFunction({ heads, kvHeads, headWidth }: HeadShape): WasmFunction {
  const group = heads / kvHeads;
  const headBytes = headWidth * 4;
  const keyBytes = headWidth * pagePositions * 4;
  return {
    name: "attention",
    parameters: ["i32", "i32", "i32", "i32", "i32", "i32"],
    body: ([rows, descriptions, qkv, out, layerOffset, scratch], local) => {
      const entry = local("i32"); // in the page table
      const left = local("i32"); // positions not yet visited
      const page = local("i32"); // keys of the current head in the current page
      const query = local("i32");
      const result = local("i32");
      const state = local("i32"); // largest score and sum of the current head
      const head = local("i32");
      const at = local("i32");
      const end = local("i32");
      const other = local("i32");
      const largest = local("f32");
      const shrink = local("v128");
      const one = local("v128");
      const sums = Array.from({ length: Math.max(scoreVectors, chunkVectors) }, () => local("v128"));
      const scoreSums = sums.slice(0, scoreVectors);
      const exp = exponential(local);

      const scores = code(
        ...scoreSums.map((sum) => set(sum, f32x4.constant(0))),
        set(at, get(page)),
        set(end, i32.add(get(page), i32.constant(keyBytes))),
        set(other, get(query)),
        repeat(
          code(
            ...[0, 1].flatMap((step) => [
              set(one, v128.loadSplat(get(other), step * 4)),
              ...scoreSums.map((sum, index) =>
                set(sum, f32x4.multiplyAdd(get(one), v128.load(get(at), (step * scoreVectors + index) * 16), get(sum))),
              ),
            ]),
            increase(at, 2 * pagePositions * 4),
            increase(other, 8),
          ),
          i32.ltU(get(at), get(end)),
        ),
        // Positions beyond the row's own count for nothing.
        when(
          i32.ltU(get(left), i32.constant(pagePositions)),
          code(
            ...scoreSums.map((sum, index) => v128.store(get(scratch!), get(sum), index * 16)),
            set(at, addressOf(get(scratch!), get(left), 4)),
            repeat(
              code(f32.store(get(at), f32.constant(-1e30)), increase(at, 4)),
              i32.ltU(get(at), i32.add(get(scratch!), i32.constant(scoreBytes))),
            ),
            ...scoreSums.map((sum, index) => set(sum, v128.load(get(scratch!), index * 16))),
          ),
        ),
      );

      const weights = code(
        set(one, get(sums[0]!)),
        ...scoreSums.slice(1).map((sum) => set(one, f32x4.max(get(one), get(sum)))),
        set(largest, f32.max(f32.load(get(state)), maxOfLanes(get(one)))),
        set(shrink, exp(f32x4.sub(v128.loadSplat(get(state)), f32x4.splat(get(largest))))),
        f32.store(get(state), get(largest)),
        ...scoreSums.map((sum, index) =>
          code(
            set(sum, exp(f32x4.sub(get(sum), f32x4.splat(get(largest))))),
            v128.store(get(scratch!), get(sum), index * 16),
          ),
        ),
        set(one, get(sums[0]!)),
        ...scoreSums.slice(1).map((sum) => set(one, f32x4.add(get(one), get(sum)))),
        f32.store(
          get(state),
          f32.add(f32.mul(f32.load(get(state), 4), f32x4.lane(get(shrink), 0)), sumOfLanes(get(one))),
          4,
        ),
      );

      const addValues = (firstVector: number) => {
        const vectors = sums.slice(0, Math.min(chunkVectors, headWidth / 4 - firstVector));
        const place = (index: number) => (firstVector + index) * 16;
        return code(
          ...vectors.map((sum, index) => set(sum, f32x4.mul(v128.load(get(result), place(index)), get(shrink)))),
          set(at, i32.add(get(page), i32.constant(keyBytes + firstVector * 16))),
          set(other, get(scratch!)),
          set(end, i32.add(get(scratch!), i32.constant(scoreBytes))),
          when(i32.ltU(get(left), i32.constant(pagePositions)), set(end, addressOf(get(scratch!), get(left), 4))),
          repeat(
            code(
              set(one, v128.loadSplat(get(other))),
              ...vectors.map((sum, index) =>
                set(sum, f32x4.multiplyAdd(get(one), v128.load(get(at), index * 16), get(sum))),
              ),
              increase(at, headBytes),
              increase(other, 4),
            ),
            i32.ltU(get(other), get(end)),
          ),
          ...vectors.map((sum, index) => v128.store(get(result), get(sum), place(index))),
        );
      };

      const chunks = Array.from(
        { length: Math.ceil(headWidth / 4 / chunkVectors) },
        (_, index) => index * chunkVectors,
      );
      const states = i32.add(get(scratch!), i32.constant(scoreBytes));
      /** Runs the body for every query head, with its query, result and state. */
      const eachHead = (body: readonly number[], afterGroup: readonly number[] = []) =>
        code(
          set(query, get(qkv!)),
          set(result, get(out!)),
          set(state, states),
          set(head, i32.constant(0)),
          repeat(
            code(
              body,
              increase(query, headBytes),
              increase(result, headBytes),
              increase(state, 8),
              increase(head, 1),
              afterGroup,
            ),
            i32.ltU(get(head), i32.constant(heads)),
          ),
        );
      const nextKeyHead =
        group === 1
          ? increase(page, 2 * keyBytes)
          : when(
              i32.equal(get(head), i32.mul(i32.divU(get(head), i32.constant(group)), i32.constant(group))),
              increase(page, 2 * keyBytes),
            );
      return loopWhile(
        get(rows!),
        code(
          set(left, i32.add(i32.load(get(descriptions!), 0), i32.constant(1))),
          set(entry, i32.load(get(descriptions!), 4)),
          eachHead(
            code(
              f32.store(get(state), f32.constant(-1e30)),
              f32.store(get(state), f32.constant(0), 4),
              ...Array.from({ length: headWidth / 4 }, (_, index) =>
                v128.store(get(result), f32x4.constant(0), index * 16),
              ),
            ),
          ),
          repeat(
            code(
              set(page, i32.add(i32.load(get(entry)), get(layerOffset!))),
              eachHead(code(scores, weights, ...chunks.map(addValues)), nextKeyHead),
              increase(entry, 4),
              when(i32.ltU(get(left), i32.constant(pagePositions)), set(left, i32.constant(pagePositions))),
              increase(left, -pagePositions),
            ),
            get(left),
          ),
          eachHead(
            code(
              set(one, f32x4.splat(f32.div(f32.constant(1), f32.load(get(state), 4)))),
              ...Array.from({ length: headWidth / 4 }, (_, index) =>
                v128.store(get(result), f32x4.mul(v128.load(get(result), index * 16), get(one)), index * 16),
              ),
            ),
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
