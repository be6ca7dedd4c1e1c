/**
 * The rules as an automaton over bytes, made deterministic as it is used: most states of the whole are never reached.
 * Tags that the tokenizer writes as one special token are symbols of their own beyond the bytes.
 */
import { type Expression, plainRanges, type RuleSet } from "./rules.ts";

/** A state of the automaton; equal states are the same object. */
export interface AutomatonState {
  readonly accepting: boolean;
  /** The state after a byte (0 to 255) or a special symbol, or null where the text would leave the language. */
  next(symbol: number): AutomatonState | null;
  readonly symbols: readonly number[];
}

interface Edge {
  from: number; // first and last symbol
  to: number;
  target: number;
}

/** Builds the automaton; `symbolOf` names the special symbol (256 or more) of a tag, where it has one. */
export function byteAutomaton(set: RuleSet, symbolOf: (marker: string) => number | undefined): AutomatonState {
  const edges: Edge[][] = [];
  const jumps: number[][] = []; // [state] -> states reached without reading
  const entries = new Map<string, number>();
  const building: string[] = [];
  const newState = () => {
    edges.push([]);
    jumps.push([]);
    return edges.length - 1;
  };
  const accept = newState();

  function read(from: number, to: number, target: number): number {
    const state = newState();
    edges[state]!.push({ from, to, target });
    return state;
  }
  function readBytes(bytes: Uint8Array, next: number): number {
    let state = next;
    for (let index = bytes.length - 1; index >= 0; index--) state = read(bytes[index]!, bytes[index]!, state);
    return state;
  }
  /** Built from the end: the state from which `expression`, followed by what `next` means, is read. */
  function build(expression: Expression, next: number): number {
    switch (expression.kind) {
      case "literal":
        return readBytes(new TextEncoder().encode(expression.text), next);
      case "marker": {
        const symbol = symbolOf(expression.text);
        return symbol === undefined
          ? readBytes(new TextEncoder().encode(expression.text), next)
          : read(symbol, symbol, next);
      }
      case "class": {
        const state = newState();
        for (const [from, to] of plainRanges(expression)) addRange(state, from, to, next);
        return state;
      }
      case "sequence":
        return expression.parts.reduceRight((after, part) => build(part, after), next);
      case "choice": {
        const options = expression.options.map((option) => build(option, next));
        const state = newState();
        jumps[state]!.push(...options);
        return state;
      }
      case "star": {
        const state = newState();
        jumps[state]!.push(next, build(expression.inner, state));
        return state;
      }
      case "rule":
        return buildRule(expression.name, next);
      default:
        return expression satisfies never;
    }
  }
  function buildRule(name: string, next: number): number {
    // At the end of everything a rule always means the same, so it is built once and may lead back to itself.
    const atEnd = next === accept;
    const known = atEnd ? entries.get(name) : undefined;
    if (known !== undefined) return known;
    if (!atEnd && building.includes(name)) throw new Error(`rule ${name} refers to itself before its end`);
    const entry = newState();
    if (atEnd) entries.set(name, entry);
    building.push(name);
    jumps[entry]!.push(build(set.rules.get(name)!, next));
    building.pop();
    return entry;
  }
  function addRange(state: number, from: number, to: number, next: number): void {
    for (const bytes of utf8Ranges(from, to)) {
      let target = next;
      for (let index = bytes.length - 1; index > 0; index--) target = read(bytes[index]![0], bytes[index]![1], target);
      edges[state]!.push({ from: bytes[0]![0], to: bytes[0]![1], target });
    }
  }

  const start = buildRule(set.start, accept);
  const states = new Map<string, AutomatonState>();

  function closure(seeds: Iterable<number>): number[] {
    const reached = new Set(seeds);
    for (const state of reached) for (const target of jumps[state]!) reached.add(target);
    // States that only jump say nothing of their own; leaving them out makes equal sets equal.
    return [...reached].filter((state) => state === accept || edges[state]!.length > 0).toSorted((a, b) => a - b);
  }
  function stateOf(members: number[]): AutomatonState {
    const key = members.join(",");
    let state = states.get(key);
    if (!state) states.set(key, (state = deterministic(members)));
    return state;
  }
  function deterministic(members: number[]): AutomatonState {
    const own = members.flatMap((member) => edges[member]!);
    const known = new Map<number, AutomatonState | null>();
    return {
      accepting: members.includes(accept),
      symbols: [...new Set(own.filter((edge) => edge.from >= 256).map((edge) => edge.from))],
      next(symbol) {
        let result = known.get(symbol);
        if (result === undefined) {
          const targets = own.filter((edge) => edge.from <= symbol && symbol <= edge.to).map((edge) => edge.target);
          result = targets.length === 0 ? null : stateOf(closure(targets));
          known.set(symbol, result);
        }
        return result;
      },
    };
  }
  return stateOf(closure([start]));
}

type ByteRange = [first: number, last: number];

/** The UTF-8 encodings of a range of code points, as sequences of byte ranges. */
export function utf8Ranges(from: number, to: number): ByteRange[][] {
  for (const last of [0x7f, 0x7ff, 0xffff]) {
    if (from <= last && to > last) return [...utf8Ranges(from, last), ...utf8Ranges(last + 1, to)];
  }
  if (to <= 0x7f) return [[[from, to]]];
  // Where a trailing byte does not run over its whole range, the block is cut so that it does.
  for (const bits of [6, 12, 18]) {
    const mask = (1 << bits) - 1;
    if (from >> bits === to >> bits) continue;
    if ((from & mask) !== 0) return [...utf8Ranges(from, from | mask), ...utf8Ranges((from | mask) + 1, to)];
    if ((to & mask) !== mask) return [...utf8Ranges(from, (to & ~mask) - 1), ...utf8Ranges(to & ~mask, to)];
  }
  const first = new TextEncoder().encode(String.fromCodePoint(from));
  const last = new TextEncoder().encode(String.fromCodePoint(to));
  return [[...first].map((byte, index): ByteRange => [byte, last[index]!])];
}
