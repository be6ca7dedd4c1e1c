/**
 * How the tokens of a batch are laid out, as graph inputs, so that one graph takes any number and any lengths: first the
 * trunk, tokens that all sequences begin with, then the sequences row by row, each padded to the longest. `layoutFeeds`
 * gives the inputs their values.
 */
import {
  type AttentionBlocks,
  attentionBlocks,
  attentionFeeds,
  causalVisibility,
} from "../autodiff/causal-attention.ts";
import { type RotaryTables, rotaryTables } from "../autodiff/rules.ts";
import type { Tape } from "../autodiff/tape.ts";
import type { Value } from "../onnx/graph.ts";
import type { HostTensor } from "../runtime/runtime.ts";
import { keptPerToken, type ModelConfig, rotaryFrequencies } from "./config.ts";

/** Into how many blocks attention cuts each part of a batch (see causal-attention.ts); parts that are absent are left out. */
export interface LayoutBlocks {
  rows: number;
  trunk?: number;
  scored?: number;
  /** Probabilities of attention are computed again for the gradient. */
  recompute?: true;
  /** Layers keep their inputs alone: what is in between is computed again for the gradient. */
  again?: true;
}

export interface Stretch {
  rows: string | number;
  length: string;
  /** [rows, length, -1, head size], the reshape rule that separates rows, positions and heads. */
  headRule: Value;
  /** The positions of the tokens, as `rotary` takes them. */
  positions: Value;
  blocks: AttentionBlocks;
}

/** Which inputs say where each token is. */
export interface RowLayout {
  tables: RotaryTables;
  rows: Stretch;
  trunk?: Stretch & { size: Value };
  /** The scored positions: of which token each is, and its place in rows of one length that are padded in front. */
  scored?: Stretch & {
    tokens: Value; // [scored], into the tokens
    numbers: Value; // [tokens], into the scored; one past the end for the others
    slots: Value; // [rows * length], into the scored; one past the end for padding
    places: Value; // [scored], into the slots
  };
}

/** Padding may reach this far beyond the model's longest context. */
const longestPadding = 16;

/** Declares the inputs of a layout and the rotary tables up to the model's longest context. */
export function rowLayout(tape: Tape, config: ModelConfig, blocks: LayoutBlocks): RowLayout {
  const { graph } = tape;
  const numbers = (name: string, size: string | number) => graph.input(name, "int64", [size]);
  const start = graph.constant([0n], [1]);
  const size = blocks.trunk ? numbers("trunkSize", 1) : undefined;
  return {
    tables: rotaryTables(tape, {
      length: config.maxContext + longestPadding,
      frequencies: rotaryFrequencies(config),
    }),
    rows: {
      rows: "rows",
      length: "length",
      headRule: numbers("headRule", 4),
      positions: size ?? start,
      blocks: attentionBlocks(graph, blocks.rows, "", blocks.recompute),
    },
    ...(size && blocks.trunk
      ? {
          trunk: {
            rows: 1,
            length: "trunk",
            headRule: numbers("trunkHeadRule", 4),
            positions: start,
            blocks: attentionBlocks(graph, blocks.trunk, "trunk ", blocks.recompute),
            size,
          },
        }
      : {}),
    ...(blocks.scored
      ? {
          scored: {
            rows: "rows",
            length: "slots",
            headRule: numbers("scoredHeadRule", 4),
            positions: graph.input("scoredPositions", "int64", ["rows", "slots"]),
            blocks: attentionBlocks(graph, blocks.scored, "scored "),
            tokens: numbers("scoredTokens", "scored"),
            numbers: numbers("scoredNumbers", "tokens"),
            slots: numbers("scoredSlots", "scored slots"),
            places: numbers("scoredPlaces", "scored"),
          },
        }
      : {}),
  };
}

export interface BatchShape {
  /** Tokens that all rows begin with; 0: none. */
  trunk: number;
  /** Length of the rows after the trunk. */
  length: number;
  rows: number;
  /** The scored positions of each row, counted after the trunk, rising; absent: all. */
  scored?: readonly Int32Array[];
}

/** Rows shorter than this are attended whole; longer ones in blocks. */
const blockCount = (length: number) => (length < 128 ? 1 : length < 768 ? 4 : 8);

/** Probabilities of attention that are kept for the gradient take this much at most; where they would take more, none are. */
const keptProbabilityBytes = 1e9;
/** The same of one layer, where layers are computed again: to compute its squares once more keeps memory in every layer. */
const layerProbabilityBytes = 2e9;

/** Which graph a batch needs, if activations may take so many bytes. */
export function layoutBlocks(
  config: ModelConfig,
  { trunk, length, rows, scored }: BatchShape,
  keptBytes = Number.POSITIVE_INFINITY,
): LayoutBlocks {
  // Half of the square is hidden, and blocks keep a little more than the other half.
  const probabilities = (trunk * trunk + rows * length * (2 * trunk + length)) / 2;
  const again = (trunk + rows * length) * keptPerToken(config) > keptBytes;
  const [layers, most] = again ? [1, layerProbabilityBytes] : [config.layers, keptProbabilityBytes];
  return {
    ...(again ? { again } : {}),
    rows: blockCount(length),
    ...(trunk > 0 ? { trunk: blockCount(trunk) } : {}),
    ...(scored ? { scored: blockCount(slotsOf(scored)) } : {}),
    ...(4 * layers * config.heads * probabilities > most ? { recompute: true as const } : {}),
  };
}

export function layoutFeeds(config: ModelConfig, batch: BatchShape): Record<string, HostTensor> {
  const { trunk, length, rows, scored } = batch;
  const blocks = layoutBlocks(config, batch);
  const group = config.heads / config.kvHeads;
  const integers = (values: ArrayLike<number>, shape = [values.length]): HostTensor => ({
    data: BigInt64Array.from(values, BigInt),
    shape,
  });
  const rule = (count: number, size: number) => integers([count, size, -1, config.headSize]);
  const feeds: Record<string, HostTensor> = { headRule: rule(rows, length) };
  const attend = (visible: Int32Array[], keys: number, count: number, name?: string) =>
    Object.assign(feeds, attentionFeeds({ visible, keys, blocks: count, group, name }));
  attend([causalVisibility(length, trunk)], trunk + length, blocks.rows);
  if (blocks.trunk) {
    feeds["trunkSize"] = integers([trunk]);
    feeds["trunkHeadRule"] = rule(1, trunk);
    attend([causalVisibility(trunk)], trunk, blocks.trunk, "trunk ");
  }
  if (!scored || !blocks.scored) return feeds;
  const slots = slotsOf(scored);
  const total = scored.reduce((sum, row) => sum + row.length, 0);
  const tokens = new Int32Array(total);
  const numbers = new Int32Array(trunk + rows * length).fill(total);
  const bySlot = new Int32Array(rows * slots).fill(total);
  const places = new Int32Array(total);
  const positions = new Int32Array(rows * slots);
  // Padding sees one key more from slot to slot, as attentionFeeds wants it; the row without padding always sees more.
  const visible = scored.map(() => causalVisibility(slots));
  let number = 0;
  scored.forEach((row, at) => {
    row.forEach((position, index) => {
      const slot = at * slots + slots - row.length + index;
      const token = trunk + at * length + position;
      tokens[number] = token;
      numbers[token] = number;
      bySlot[slot] = number;
      places[number] = slot;
      positions[slot] = trunk + position;
      visible[at]![slot - at * slots] = trunk + position + 1;
      number++;
    });
  });
  feeds["scoredHeadRule"] = rule(rows, slots);
  feeds["scoredTokens"] = integers(tokens);
  feeds["scoredNumbers"] = integers(numbers);
  feeds["scoredSlots"] = integers(bySlot);
  feeds["scoredPlaces"] = integers(places);
  feeds["scoredPositions"] = integers(positions, [rows, slots]);
  return attend(visible, trunk + length, blocks.scored, "scored ");
}

const slotsOf = (scored: readonly Int32Array[]) => Math.max(...scored.map((row) => row.length));
