/**
 * The Python around an answer's program, as LiveCodeBench's own runner has it: a fixed set of imports and a recursion
 * limit in front, a call of the function that was asked for behind. What a call returns comes back as JSON that keeps
 * Python's types apart (`python-value.ts` reads it), because `1 == True` and `[1] != (1,)` follow Python's rules.
 */
import { CoaError } from "../../core/errors.ts";

const modules =
  "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json";

/** What is put in front of every program: programs are written for it and fail without. */
const officialPrelude = [
  ...modules.split(" ").map((name) => `from ${name} import *`),
  "from builtins import *",
  "from typing import *",
  ...modules.split(" ").map((name) => `import ${name}`),
  "sys.setrecursionlimit(50000)",
].join("\n");

/** The line that carries a function's result begins with this. */
export const resultMark = "\u0001result:";

/** A whole program: the imports, then the answer as it is. Leaving by SystemExit is an end like any other. */
export function programHarness(code: string): string {
  return `${officialPrelude}
def __coa_run():
    source = ${pythonText(code)}
    names = {name: value for name, value in globals().items() if not name.startswith("__coa")}
    names["__name__"] = "__main__"
    try:
        exec(compile(source, "answer.py", "exec"), names)
    except SystemExit:
        pass
__coa_run()
`;
}

/** The answer followed by a call of its function (or method of `Solution`) with arguments from standard input. */
export function callHarness(code: string, name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) throw new CoaError("grader", `not a function name: ${JSON.stringify(name)}`);
  return `${officialPrelude}
def __coa_run():
    import json, sys, numbers, decimal
    def encode(value, depth=0):
        if depth > 900: return ["o", "nested too deeply"]
        if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0: value = value.item()
        if value is None: return ["n"]
        if isinstance(value, bool): return ["b", bool(value)]
        if isinstance(value, int): return ["i", hex(value)]
        if isinstance(value, float): return ["f", float.hex(value)]
        if isinstance(value, str): return ["s", str(value)]
        if isinstance(value, numbers.Rational): return ["q", hex(value.numerator), hex(value.denominator)]
        if isinstance(value, decimal.Decimal) and value.is_finite():
            top, bottom = value.as_integer_ratio()
            return ["q", hex(top), hex(bottom)]
        if isinstance(value, list): return ["l", [encode(item, depth + 1) for item in value]]
        if isinstance(value, tuple): return ["t", [encode(item, depth + 1) for item in value]]
        if isinstance(value, dict): return ["d", [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in value.items()]]
        return ["o", type(value).__name__]
    source = ${pythonText(code)}
    names = {name: value for name, value in globals().items() if not name.startswith("__coa")}
    names["__name__"] = "answer"
    arguments = json.loads(sys.stdin.read())
    write, dumps = sys.stdout.write, json.dumps
    exec(compile(source, "answer.py", "exec"), names)
    call = getattr(names["Solution"](), ${pythonText(name)}) if "Solution" in names else names[${pythonText(name)}]
    write("\\n\\x01result:" + dumps(encode(call(*arguments))) + "\\n")
__coa_run()
`;
}

/** A Python string literal: JSON is one, apart from characters beyond the basic plane, which JSON writes as they are. */
function pythonText(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return code >= 0xd800 && code <= 0xdfff ? unit : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
