import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, describe, it } from "node:test";
import { testSize, whole } from "../../../test/fixtures/test-size.ts";
import { endlessMs } from "../../../test/fixtures/until.ts";
import { isRoot } from "./launch.ts";
import { pyodideSandbox, pyodideSnapshot, startPyodide } from "./pyodide-launch.ts";

describe("pyodideSandbox, a child per trajectory", () => {
  const sandbox = pyodideSandbox({ most: 3 });
  after(() => sandbox.close());
  const run = (code: string, more: object = {}) =>
    sandbox.run({ language: "python", code, sessionKey: "one", limits: { wallMs: endlessMs }, ...more });

  it("prints, reads standard input in every way, and exits like Python does", async () => {
    assert.equal((await run("print(sum(range(1000)))")).stdout, "499500\n");
    assert.equal((await run("print(input(), int(input()) + 1)", { stdin: "a\n41\n" })).stdout, "a 42\n");
    assert.equal((await run("import sys; print(sys.stdin.read().upper())", { stdin: "héé" })).stdout, "HÉÉ\n");
    assert.equal((await run("print(open(0).read())", { stdin: "zero" })).stdout, "zero\n");
    assert.equal((await run("print(open(0).read())", { stdin: "again" })).stdout, "again\n");
    assert.equal((await run("import sys; print(len(sys.stdin.buffer.read()))", { stdin: "é" })).stdout, "2\n");
    assert.equal((await run("import os; os.write(1, b'raw'); os.write(2, b'err')")).stderr, "err");
    assert.deepEqual(
      [await run("raise SystemExit(3)"), await run("import os; os._exit(4)"), await run("exit()")].map(
        (r) => r.exitCode,
      ),
      [3, 4, 0],
    );
    assert.equal((await run("raise SystemExit('bye')")).stderr, "bye\n");
  });

  it("shows a traceback of the program alone", async () => {
    const { stderr, verdict, exitCode } = await run("def f(x):\n    return 1 / x\nprint('before')\nf(0)");
    assert.equal(verdict, "failed");
    assert.equal(exitCode, 1);
    assert.match(stderr, /^Traceback \(most recent call last\):\n {2}File "main.py", line 4, in <module>\n/);
    assert.match(stderr, /ZeroDivisionError: division by zero\n$/);
    assert.match((await run("print(")).stderr, /SyntaxError/);
  });

  it("runs programs that look like main, keep dataclasses, use asyncio, finish in atexit", async () => {
    assert.equal((await run("if __name__ == '__main__': print(__file__)")).stdout, "main.py\n");
    const dataclass = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nprint(P(2))";
    assert.equal((await run(dataclass)).stdout, "P(x=2)\n");
    const coroutines =
      "import asyncio\nasync def one(n):\n    await asyncio.sleep(0.001)\n    return n\nasync def main():\n    return await asyncio.gather(*map(one, range(3)))\nprint(asyncio.run(main()))";
    assert.equal((await run(coroutines)).stdout, "[0, 1, 2]\n");
    assert.equal((await run("import atexit\natexit.register(print, 'last')\nprint('first')")).stdout, "first\nlast\n");
  });

  it("stops a loop at its CPU limit and keeps what was printed and the child", async () => {
    await run("open('/tmp/mark', 'w').write('kept')");
    const { verdict, stdout } = await run("print('so far')\nwhile True: pass", {
      limits: { cpuMs: 200, wallMs: endlessMs },
    });
    assert.equal(verdict, "timeout");
    assert.equal(stdout, "so far\n");
    assert.equal((await run("print(open('/tmp/mark').read())")).stdout, "kept\n");
  });

  it("cuts long output in the middle", async () => {
    const { stdout } = await run("print('a' * 5000 + 'b' * 5000)", {
      limits: { outputCharacters: 100, wallMs: endlessMs },
    });
    assert.equal(stdout, `${"a".repeat(50)}\n... [9901 characters cut] ...\n${"b".repeat(49)}\n`);
  });

  it("never lets one trajectory see another's files or names, and each run has fresh names", async () => {
    await run("open('/tmp/secret', 'w').write('x'); import builtins; builtins.leak = 1; name = 5");
    assert.equal((await run("print('name' in globals())")).stdout, "False\n");
    const other = await run("import os\nprint(os.path.exists('/tmp/secret'), hasattr(__builtins__, 'leak'))", {
      sessionKey: "two",
    });
    assert.equal(other.stdout, "False False\n");
  });

  it("gives every child other random numbers", async () => {
    const draws = await Promise.all([1, 2, 3].map(() => run("import random; print(random.random())")));
    assert.equal(new Set(draws.map((draw) => draw.stdout)).size, 3);
  });

  it("can be aborted, and still works", async () => {
    const controller = new AbortController();
    const running = run("while True: pass", { signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    await assert.rejects(running, { name: "AbortError" });
    assert.equal((await run("print(1)")).stdout, "1\n");
  });
});

describe("pyodideSandbox, shared children", () => {
  const sandbox = pyodideSandbox({ isolation: "run", warm: 2 });
  after(() => sandbox.close());
  const run = (code: string) => sandbox.run({ language: "python", code, limits: { wallMs: endlessMs } });

  it("gives builtins, modules, files, environment and settings as new to each run", async () => {
    const vandal = `
import builtins, math, os, sys, json, random, decimal
builtins.len = lambda x: 99
builtins.extra = 1
math.pi = 3
json.loads = None
os.environ['LEAK'] = '1'
os.chdir('/tmp')
os.makedirs('/tmp/deep/er'); open('/tmp/deep/er/file', 'w').write('x'); open('here', 'w').write('y')
sys.path.insert(0, '/tmp'); sys.setrecursionlimit(50000); sys.modules['fake'] = math; sys.leak = 1
sys.settrace(lambda *a: None)
decimal.getcontext().prec = 3
kept = open('/tmp/held', 'w')
`;
    const witness = `
import builtins, math, os, sys, json, decimal
print(len('ab'), hasattr(builtins, 'extra'), math.pi, json.loads('1'), 'LEAK' in os.environ, os.getcwd(), os.listdir('/tmp'), '/tmp' in sys.path, sys.getrecursionlimit() < 50000, 'fake' in sys.modules, hasattr(sys, 'leak'), sys.gettrace(), decimal.getcontext().prec)`;
    const clean = (await run(witness)).stdout;
    assert.equal(clean, "2 False 3.141592653589793 1 False /home/pyodide [] False True False False None 28\n");
    for (let round = 0; round < testSize(1, 2); round++) {
      await run(vandal);
      assert.equal((await run(witness)).stdout, clean, `round ${round}`);
    }
  });

  it("takes no program for plain that is not", async () => {
    const sneaky = [
      "(x for x in [1]).gi_frame.f_builtins.update({'len': 5})",
      "print.__self__.len = 5",
      "def f(n): return n\nf.__globals__['__builtins__'].len = 5",
      "import builtins as b\nb.len = 5",
      "class A: pass\nA().__class__.__base__.__subclasses__()[0]\nimport builtins; builtins.len = 5",
      "globals()['__builtins__'].len = 5",
      "[g.update({'len': 5}) for g in [vars(__builtins__)]]",
      "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_builtins['len'] = 5",
      "eval(\"setattr(__builtins__, 'len', 5)\")",
      "if 0: exec = 0\nexec('import builtins; builtins.len = 5')",
      "for eval in []: pass\neval('print').__self__.len = 5",
      "sorted([1], key=exec)",
      "len = 5",
      "max('import builtins; builtins.len = 5', key=exec)",
    ];
    const child = await startPyodide({ memoryMb: 256 });
    const ask = async (code: string) => {
      const request = { code, stdin: "", cpuMs: 30_000, outputCharacters: 100, plainOnly: true, seed: 1 };
      const outcome = await child.request(request, { cpuMs: 30_000, wallMs: endlessMs });
      return outcome.kind === "reply" ? (outcome.reply.refused ? "refused" : outcome.reply.stdout) : outcome.kind;
    };
    for (const code of sneaky) assert.equal(await ask(code), "refused", code);
    const plain =
      "total = 0\nfor n in range(5):\n    if n % 2: total += n ** 2\nprint(f'{total:>3}', [n for n in 'ab'], sep='')";
    assert.equal(await ask(plain), " 10['a', 'b']\n");
    child.kill();
    await child.exited;
  });

  it("keeps 200 concurrent runs apart", async () => {
    const results = await Promise.all(Array.from({ length: 200 }, (_, at) => run(`print(${at} ** 3)`)));
    for (const [at, { stdout }] of results.entries()) assert.equal(stdout, `${at ** 3}\n`);
  });
});

describe("pyodideSnapshot", () => {
  it("is made once and found again, and a folder that others can write to is not trusted", async () => {
    const folder = mkdtempSync(join(tmpdir(), "coa-snapshot-"));
    try {
      const known = await pyodideSnapshot();
      // To make one takes seconds, which the long tier has.
      if (!whole && known !== undefined) copyFileSync(known, join(folder, basename(known)));
      const path = await pyodideSnapshot(folder);
      assert.deepEqual(readdirSync(folder).length, 1);
      assert.equal(await pyodideSnapshot(folder), path);
      const open = join(folder, "open");
      mkdirSync(open);
      chmodSync(open, 0o777);
      if (process.platform !== "win32") assert.equal(await pyodideSnapshot(open), undefined);
      if (!whole) return;
      const damaged = mkdtempSync(join(folder, "damaged-"));
      const bytes = readFileSync(String(path));
      bytes[5_000_000]! ^= 1;
      writeFileSync(join(damaged, basename(String(path))), bytes);
      const made = readFileSync(String(await pyodideSnapshot(damaged)));
      assert.equal(made.length, bytes.length);
      assert.ok(!made.equals(bytes), "a damaged snapshot is made again");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("runs as a user without rights when we are root", { skip: !isRoot() && "not root" }, async () => {
    const sandbox = pyodideSandbox({ warm: 0 });
    const { processTree } = await import("./launch.ts");
    const { readFileSync } = await import("node:fs");
    const before = new Set(processTree(process.pid));
    await sandbox.run({ language: "python", code: "pass", sessionKey: "a", limits: { wallMs: endlessMs } });
    const children = processTree(process.pid).filter((pid) => !before.has(pid));
    assert.equal(children.length, 1);
    const status = readFileSync(`/proc/${children[0]}/status`, "utf8");
    assert.match(status, /^Uid:\t65534\t65534\t65534\t65534$/m);
    assert.match(status, /^NoNewPrivs:\t1$/m);
    assert.match(status, /^CapEff:\t0+$/m);
    await sandbox.close();
  });
});
