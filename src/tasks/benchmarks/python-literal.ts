/** Reads Python literals (numbers, strings, lists, tuples, dicts, True, False, None), as test files write arguments. */

/** The value at the start of the text, and where it ended; throws a SyntaxError where there is none. */
export function readPythonLiteral(text: string, start = 0): { value: unknown; end: number } {
  let at = start;
  const space = () => {
    while (/\s/.test(text[at] ?? "")) at++;
  };
  const fail = (): never => {
    throw new SyntaxError(`not a Python literal at ${at}: ${text.slice(at, at + 30)}`);
  };
  const items = (close: string): unknown[] => {
    const found: unknown[] = [];
    for (space(); text[at] !== close; space()) {
      found.push(value());
      space();
      if (text[at] === ",") at++;
      else if (text[at] !== close) fail();
    }
    at++;
    return found;
  };
  const dict = (): Record<string, unknown> => {
    const entries: [string, unknown][] = [];
    for (space(); text[at] !== "}"; space()) {
      const key = value();
      space();
      if (text[at++] !== ":") fail();
      entries.push([String(key), value()]);
      space();
      if (text[at] === ",") at++;
      else if (text[at] !== "}") fail();
    }
    at++;
    return Object.fromEntries(entries);
  };
  const value = (): unknown => {
    space();
    const character = text[at];
    if (character === "[" || character === "(") {
      at++;
      return items(character === "[" ? "]" : ")");
    }
    if (character === "{") {
      at++;
      return dict();
    }
    if (character === "'" || character === '"') return string(character);
    const word =
      /^(?:True|False|None)\b|^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/.exec(text.slice(at))?.[0] ?? fail();
    at += word.length;
    return word === "True" ? true : word === "False" ? false : word === "None" ? null : Number(word);
  };
  const string = (quote: string): string => {
    let result = "";
    for (at++; text[at] !== quote; at++) {
      if (at >= text.length) fail();
      if (text[at] !== "\\") result += text[at];
      else result += escaped();
    }
    at++;
    return result;
  };
  const escaped = (): string => {
    const code = text[++at]!;
    const hex = code === "x" ? 2 : code === "u" ? 4 : 0;
    if (hex > 0) {
      at += hex;
      return String.fromCharCode(Number.parseInt(text.slice(at - hex + 1, at + 1), 16));
    }
    return { n: "\n", t: "\t", r: "\r", "0": "\0" }[code] ?? code;
  };
  return { value: value(), end: at };
}
