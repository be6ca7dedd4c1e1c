/**
 * Reads Python pickles as data. A pickle is a program for a small stack machine that may call anything; here calls are
 * kept as what they name and are given, and nothing is run. Lists, tuples, dicts, texts, numbers and bytes become values,
 * objects become their class name with arguments and state.
 */
import { CoaError } from "../../core/errors.ts";

/** An object or a call in a pickle: what it names, what it was given, and the fields it holds. */
export class PickledObject {
  readonly name: string;
  readonly args: readonly unknown[];
  state: unknown;

  constructor(name: string, args: readonly unknown[]) {
    this.name = name;
    this.args = args;
  }
}

/** A name that a pickle refers to: a class or a function. */
class PickledName {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

const mark = Symbol("mark");

/** The value that a pickle holds; throws where it is torn or uses what data does not need. */
export function readPickle(bytes: Buffer): unknown {
  const stack: unknown[] = [];
  const memo: unknown[] = [];
  let at = 0;
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > bytes.length) throw problem("it ends in the middle of a value");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const line = (): string => {
    const end = bytes.indexOf(10, at);
    if (end < 0) throw problem("it ends in the middle of a line");
    const text = bytes.toString("utf8", at, end);
    at = end + 1;
    return text;
  };
  const size = (width: 1 | 2 | 4 | 8): number => {
    const field = take(width);
    return width === 8 ? Number(field.readBigUInt64LE()) : field.readUIntLE(0, width);
  };
  const pop = (): unknown => {
    if (stack.length === 0) throw problem("its stack is empty");
    return stack.pop();
  };
  const sinceMark = (): unknown[] => {
    const from = stack.lastIndexOf(mark);
    if (from < 0) throw problem("a mark is missing");
    const items = stack.splice(from);
    return items.slice(1);
  };
  const setItems = (target: unknown, items: unknown[]): void => {
    if (!(target instanceof Map)) throw problem("it sets items of what is not a dict");
    for (let i = 0; i + 1 < items.length; i += 2) target.set(items[i], items[i + 1]);
  };
  const append = (target: unknown, items: unknown[]): void => {
    if (!Array.isArray(target)) throw problem("it appends to what is not a list");
    for (const item of items) target.push(item);
  };
  const call = (args: unknown, callee: unknown): PickledObject =>
    new PickledObject(callee instanceof PickledName ? callee.name : "?", Array.isArray(args) ? args : [args]);
  const operations: Record<string, () => void> = {
    "\x80": () => void take(1),
    "\x95": () => void take(8),
    "(": () => stack.push(mark),
    "0": () => void pop(),
    "1": () => void sinceMark(),
    "2": () => stack.push(stack.at(-1)),
    N: () => stack.push(null),
    "\x88": () => stack.push(true),
    "\x89": () => stack.push(false),
    K: () => stack.push(size(1)),
    M: () => stack.push(size(2)),
    J: () => stack.push(take(4).readInt32LE()),
    G: () => stack.push(take(8).readDoubleBE()),
    "\x8a": () => stack.push(wholeNumber(take(size(1)))),
    "\x8b": () => stack.push(wholeNumber(take(size(4)))),
    "\x8c": () => stack.push(take(size(1)).toString("utf8")),
    X: () => stack.push(take(size(4)).toString("utf8")),
    "\x8d": () => stack.push(take(size(8)).toString("utf8")),
    C: () => stack.push(take(size(1))),
    B: () => stack.push(take(size(4))),
    "\x8e": () => stack.push(take(size(8))),
    U: () => stack.push(take(size(1)).toString("latin1")),
    T: () => stack.push(take(size(4)).toString("latin1")),
    "}": () => stack.push(new Map()),
    "]": () => stack.push([]),
    ")": () => stack.push([]),
    "\x8f": () => stack.push([]),
    t: () => stack.push(sinceMark()),
    l: () => stack.push(sinceMark()),
    d: () => {
      const items = sinceMark();
      const dict = new Map();
      setItems(dict, items);
      stack.push(dict);
    },
    "\x85": () => stack.push([pop()]),
    "\x86": () => stack.push(stack.splice(-2)),
    "\x87": () => stack.push(stack.splice(-3)),
    a: () => append(stack.at(-2), [pop()]),
    e: () => append(stack[stack.lastIndexOf(mark) - 1], sinceMark()),
    "\x90": () => append(stack[stack.lastIndexOf(mark) - 1], sinceMark()),
    s: () => {
      const [key, value] = stack.splice(-2);
      setItems(stack.at(-1), [key, value]);
    },
    u: () => setItems(stack[stack.lastIndexOf(mark) - 1], sinceMark()),
    c: () => stack.push(new PickledName(`${line()}.${line()}`)),
    "\x93": () => {
      const [module, name] = stack.splice(-2);
      stack.push(new PickledName(`${String(module)}.${String(name)}`));
    },
    R: () => stack.push(call(pop(), pop())),
    "\x81": () => stack.push(call(pop(), pop())),
    b: () => {
      const state = pop();
      const target = stack.at(-1);
      if (!(target instanceof PickledObject)) throw problem("it gives fields to what is not an object");
      target.state = state;
    },
    "\x94": () => memo.push(stack.at(-1)),
    q: () => void (memo[size(1)] = stack.at(-1)),
    r: () => void (memo[size(4)] = stack.at(-1)),
    h: () => stack.push(memo[size(1)]),
    j: () => stack.push(memo[size(4)]),
  };
  while (at < bytes.length) {
    const code = String.fromCharCode(bytes[at++]!);
    if (code === ".") return pop();
    const operation = operations[code];
    if (!operation) throw problem(`it uses operation 0x${code.charCodeAt(0).toString(16)}, which data does not need`);
    operation();
  }
  throw problem("it has no end");
}

/** A little-endian whole number in two's complement. */
function wholeNumber(bytes: Buffer): number | bigint {
  let value = 0n;
  for (const [i, byte] of bytes.entries()) value |= BigInt(byte) << BigInt(8 * i);
  if (bytes.length > 0 && bytes.at(-1)! >= 128) value -= 1n << BigInt(8 * bytes.length);
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

function problem(what: string): CoaError {
  return new CoaError("format", `not a pickle that can be read as data: ${what}`);
}
