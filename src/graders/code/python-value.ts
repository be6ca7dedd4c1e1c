/**
 * Values of Python and when Python calls them equal. Results of a program arrive encoded with their types; expected values
 * are JSON. Both become one form, and `==` is Python's: whole numbers, floats and booleans are compared as exact numbers,
 * lists never equal tuples, an object of an unknown class equals nothing.
 */

export type PythonValue =
  | { type: "none" }
  | { type: "number"; top: bigint; bottom: bigint }
  | { type: "special"; value: "inf" | "-inf" | "nan" }
  | { type: "text"; value: string }
  | { type: "list" | "tuple"; items: PythonValue[] }
  | { type: "dict"; entries: [PythonValue, PythonValue][] }
  | { type: "other"; name: string };

/** A value from what the harness wrote; throws where it is not such a value. */
export function decodeValue(encoded: unknown): PythonValue {
  const [tag, first, second] = encoded as [string, unknown, unknown];
  switch (tag) {
    case "n":
      return { type: "none" };
    case "b":
      return whole(first ? 1n : 0n);
    case "i":
      return whole(hexInteger(String(first)));
    case "f":
      return hexFloat(String(first));
    case "q":
      return { type: "number", top: hexInteger(String(first)), bottom: hexInteger(String(second)) };
    case "s":
      return { type: "text", value: String(first) };
    case "l":
    case "t":
      return { type: tag === "l" ? "list" : "tuple", items: (first as unknown[]).map(decodeValue) };
    case "d":
      return {
        type: "dict",
        entries: (first as [unknown, unknown][]).map(([key, value]) => [decodeValue(key), decodeValue(value)]),
      };
    case "o":
      return { type: "other", name: String(first) };
    default:
      throw new SyntaxError(`not an encoded value: ${JSON.stringify(encoded).slice(0, 60)}`);
  }
}

/** A value from JSON text, as Python's own reader takes it: long whole numbers exactly, NaN and Infinity too. */
export function jsonValue(text: string): PythonValue {
  const constants = { NaN: "\u0001nan", Infinity: "\u0001inf", "-Infinity": "\u0001-inf" };
  const plain = text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (word) =>
    word.startsWith('"') ? word : JSON.stringify(constants[word as keyof typeof constants]),
  );
  // Called from the inside out: what a list or an object holds is read already.
  const revive = (_key: string, value: unknown, { source = "" }: { source?: string }): PythonValue => {
    if (typeof value === "number") return /^-?\d+$/.test(source) ? whole(BigInt(source)) : floatValue(value);
    if (value === null) return { type: "none" };
    if (typeof value === "boolean") return whole(value ? 1n : 0n);
    if (typeof value === "string" && value.startsWith("\u0001"))
      return { type: "special", value: value.slice(1) as "inf" | "-inf" | "nan" };
    if (typeof value === "string") return { type: "text", value };
    if (Array.isArray(value)) return { type: "list", items: value };
    return {
      type: "dict",
      entries: Object.entries(value!).map(([key, inner]) => [{ type: "text", value: key }, inner]),
    };
  };
  return (JSON.parse as (text: string, reviver: typeof revive) => PythonValue)(plain, revive);
}

function whole(value: bigint): PythonValue {
  return { type: "number", top: value, bottom: 1n };
}

function hexInteger(text: string): bigint {
  return text.startsWith("-") ? -BigInt(text.slice(1)) : BigInt(text);
}

function floatValue(value: number): PythonValue {
  if (Number.isNaN(value)) return { type: "special", value: "nan" };
  if (!Number.isFinite(value)) return { type: "special", value: value > 0 ? "inf" : "-inf" };
  let bottom = 1n;
  let scaled = value;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    bottom *= 2n;
  }
  return { type: "number", top: BigInt(scaled), bottom };
}

/** `float.hex`: `-0x1.8p+1`, `inf`, `nan`. */
function hexFloat(text: string): PythonValue {
  const match = /^(-?)0x([01])(?:\.([0-9a-f]*))?p([-+]\d+)$/.exec(text);
  if (!match) return { type: "special", value: text as "inf" | "-inf" | "nan" };
  const fraction = match[3] ?? "";
  let top = BigInt(`0x${match[2]}${fraction}`) * (match[1] ? -1n : 1n);
  let bottom = 16n ** BigInt(fraction.length);
  const power = BigInt(match[4]!);
  if (power >= 0n) top *= 2n ** power;
  else bottom *= 2n ** -power;
  return { type: "number", top, bottom };
}

/** `a == b` as Python says it. */
export function pythonEquals(a: PythonValue, b: PythonValue): boolean {
  if (a.type === "number" && b.type === "number") return a.top * b.bottom === b.top * a.bottom;
  if (a.type === "special" && b.type === "special") return a.value === b.value && a.value !== "nan";
  if (a.type === "text" && b.type === "text") return a.value === b.value;
  if ((a.type === "list" && b.type === "list") || (a.type === "tuple" && b.type === "tuple"))
    return a.items.length === b.items.length && a.items.every((item, i) => pythonEquals(item, b.items[i]!));
  if (a.type === "dict" && b.type === "dict")
    return (
      a.entries.length === b.entries.length &&
      a.entries.every(([key, value]) =>
        b.entries.some(([other, inner]) => pythonEquals(key, other) && pythonEquals(value, inner)),
      )
    );
  return a.type === "none" && b.type === "none";
}
