/**
 * The code tool of the fast path: evaluates `print(expression)` over whole numbers in this process, with Python's rules
 * (exact integers of any size, floor division). Made for bulk data; the real sandbox is the default everywhere else.
 */
import { z } from "zod";
import { ToolError } from "../core/errors.ts";
import { defineTool, type Tool } from "../core/tool.ts";

const input = z.object({ code: z.string() });

/** Runs one line of the form `print(expression)`; anything else is refused. */
export function arithmeticTool(): Tool<z.output<typeof input>> {
  return defineTool({
    name: "code",
    description: "Run a line of Python, print(expression) over whole numbers, and see what it prints.",
    input,
    run: ({ code }) => String(evaluatePrint(code)),
  });
}

/** The value that `print(expression)` prints. */
export function evaluatePrint(code: string): bigint {
  const expression = /^\s*print\((.*)\)\s*;?\s*$/s.exec(code)?.[1];
  if (expression === undefined) throw new ToolError("code", "only print(expression) can be run here");
  const tokens = expression.match(/\d+|\/\/|\S/g) ?? [];
  let at = 0;
  const fail = (): never => {
    throw new ToolError("code", `SyntaxError: invalid syntax: ${expression}`);
  };
  const factor = (): bigint => {
    const token = tokens[at++];
    if (token === "-") return -factor();
    if (token === "+") return factor();
    if (token === "(") {
      const value = sum();
      return tokens[at++] === ")" ? value : fail();
    }
    return token !== undefined && /^(?:0+|[1-9]\d*)$/.test(token) ? BigInt(token) : fail();
  };
  const product = (): bigint => {
    let value = factor();
    for (;;) {
      const operator = tokens[at];
      if (operator !== "*" && operator !== "//" && operator !== "%") return value;
      at++;
      const right = factor();
      if (operator === "*") value *= right;
      else if (right === 0n) throw new ToolError("code", "ZeroDivisionError: division by zero");
      else value = operator === "//" ? floorDivide(value, right) : value - floorDivide(value, right) * right;
    }
  };
  const sum = (): bigint => {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-")
      value = tokens[at++] === "+" ? value + product() : value - product();
    return value;
  };
  const value = sum();
  return at === tokens.length ? value : fail();
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}
