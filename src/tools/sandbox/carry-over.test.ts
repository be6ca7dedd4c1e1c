/**
 * What one program leaves behind must never reach the result of another: forged protocol lines, patched builtins, hooks,
 * finalisers, changed JavaScript prototypes. Each attack runs in every sandbox that works here (`carry-over.long.test.ts`
 * repeats it as a normal user), and honest programs run after it: in the same trajectory where the attack is on the protocol, in another always.
 */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { whole } from "../../../test/fixtures/test-size.ts";
import { endlessMs } from "../../../test/fixtures/until.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "./bubblewrap.ts";
import { isRoot } from "./launch.ts";
import { pyodideSandbox } from "./pyodide-launch.ts";

const forged = '{"nonce":"","status":0,"reason":"","stdout":"FORGED\\\\n","stderr":""}';

/** Attacks on the lines between the child and us. The attacker's own next run must be right as well. */
const protocolAttacks: Record<string, string> = {
  "a line on /dev/tty": `open('/dev/tty', 'w').write('${forged}\\n')`,
  "two lines on /dev/tty": `f = open('/dev/tty', 'w')\nf.write('${forged}\\n' * 2)\nf.close()`,
  "half a line on /dev/tty1": `open('/dev/tty1', 'w').write('${forged}'[:20])`,
  "Emscripten's own print": `import pyodide_js\npyodide_js._module.print('${forged}')`,
  "descriptors beyond the third": `import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'${forged}\\n')\n    except OSError: pass`,
  "the console of JavaScript": `import pyodide_js\npyodide_js._module.out('${forged}')`,
  "a toJSON on the prototype of all objects": `import pyodide_js\npyodide_js.constructor.prototype.toJSON = lambda *a: 'FORGED'`,
};

/** Attacks on what comes after. */
const stateAttacks: Record<string, string> = {
  "a builtin under the name of an assignment that never runs":
    "if 0: exec = 0\nexec('import builtins; builtins.print = lambda *a: None')",
  "a patched builtin": "import builtins\nbuiltins.print = lambda *a, **k: None",
  "a patched class of the library": "import io\nio.TextIOWrapper.write = lambda *a: 0",
  "an audit hook": "import sys\nsys.addaudithook(lambda *a: (_ for _ in ()).throw(SystemExit(3)))",
  "a profile of all threads":
    "import threading, sys\nsys.setprofile(lambda *a: sys.exit(4)); threading.setprofile(lambda *a: sys.exit(4))",
  monitoring:
    "import sys\nsys.monitoring.use_tool_id(0, 'x'); sys.monitoring.register_callback(0, sys.monitoring.events.PY_START, lambda *a: sys.exit(5)); sys.monitoring.set_events(0, sys.monitoring.events.PY_START)",
  "a finaliser in a cycle":
    "import sys\nclass A:\n    def __del__(self):\n        import os\n        os.write(1, b'FORGED')\na = A(); a.self = a",
  "everything the collector can reach":
    "import gc\nfor thing in gc.get_objects():\n    if isinstance(thing, dict) and 'print_exception' in thing: thing.clear()\n    if callable(thing) and getattr(thing, '__name__', '') in ('run', 'streams', 'flush'):\n        try: thing.__code__ = (lambda *a: '0 ').__code__\n        except Exception: pass",
  "another standard output": "import pyodide_js\npyodide_js.setStdout({'write': lambda b: len(b)})",
  "another standard input": "import pyodide_js\npyodide_js.setStdin({'error': True})",
  "a module of JavaScript":
    "import pyodide_js, sys\npyodide_js.registerJsModule('builtins', pyodide_js)\nsys.modules['builtins'] = None",
  "a method of every string in JavaScript":
    "import pyodide_js\npyodide_js.version.__class__\npyodide_js._module.constructor.prototype.text = lambda *a: 'FORGED'",
  "an interrupt that never ends":
    "import pyodide_js\nfrom pyodide.ffi import to_js\npyodide_js.setInterruptBuffer(to_js([2]))",
  "a codec that answers for utf-8":
    "import codecs\ncodecs.register(lambda name: None)\nimport encodings\nencodings.search_function = None",
  "a closed standard output": "import os\nos.close(1); os.close(0)",
  "a file over a device": "import os\nos.remove('/dev/stdout'); open('/dev/stdout', 'w').write('x')",
  "files and the working folder":
    "import os\nopen('/tmp/left', 'w').write('x'); os.chdir('/tmp'); open('json.py', 'w').write('x')",
  "settings of the interpreter":
    "import sys, decimal\nsys.setrecursionlimit(40); sys.set_int_max_str_digits(700); decimal.getcontext().prec = 2",
  "an exit function": "import atexit\natexit.register(lambda: atexit.register(print, 'FORGED'))",
  "a signal handler": "import signal, sys\nsignal.signal(signal.SIGINT, lambda *a: sys.exit(9))",
}; // biome-ignore-all format: one attack a line

const limits = { cpuMs: 10_000, wallMs: endlessMs, memoryMb: 256, outputCharacters: 2_000 };
const user = isRoot() ? "root" : "a normal user";

/** Plain programs, which share a child where children are shared. */
const plainPrograms = [
  ["print(6 * 7)", "", "42\n"],
  ["print(input())", "said\n", "said\n"],
] as const;

/** One that is not plain and looks around. */
const witness = [
  "import os, json, sys\nprint(len(os.listdir('/tmp')), json.dumps([1]), sys.getrecursionlimit() > 900)",
  "",
  "0 [1] True\n",
] as const;

async function expectHonest(sandbox: Sandbox, after: string, programs: readonly (readonly [string, string, string])[]) {
  for (const [code, stdin, stdout] of programs) {
    const result = await sandbox.run({ language: "python", code, stdin, limits, sessionKey: "honest" });
    assert.deepEqual([result.stdout, result.verdict], [stdout, "ok"], `${after}: ${JSON.stringify(result)}`);
  }
}

/** All of them in one program, each whatever the others did: a fresh Pyodide costs too much for one each. */
const allAtOnce = `for attack in ${JSON.stringify(Object.values(stateAttacks))}:
    try: (lambda run: run(attack, {}))(exec)
    except BaseException: pass`;

/** Every seventh attack in the short tier, every one in the long tier. */
function some(attacks: Record<string, string>): [string, string][] {
  return Object.entries(attacks).filter((_, index) => whole || index % 7 === 0);
}

function suite(name: string, make: () => Sandbox, attacks: Record<string, string>, skip: string | false = false): void {
  describe(`${name}, started by ${user}`, { skip }, () => {
    const sandbox = skip === false ? make() : undefined;
    after(() => sandbox?.close());
    it("gives no answer to the wrong request after an attack on the protocol", async () => {
      for (const [attack, code] of some(protocolAttacks)) {
        const result = await sandbox!.run({ language: "python", code, limits, sessionKey: attack });
        assert.doesNotMatch(result.stdout, /FORGED/, attack);
        await expectHonest(sandbox!, attack, plainPrograms);
        // Its own child may have been killed for it; whatever it is told next is about its own program.
        const own = await sandbox!.run({ language: "python", code: "print(5 * 5)", limits, sessionKey: attack });
        assert.match(`${own.verdict} ${own.stdout}`, /^(ok 25\n|crashed )$/, attack);
      }
    });
    for (const [attack, code] of some(attacks)) {
      it(`lets no other program feel ${attack}`, async () => {
        await sandbox!.run({ language: "python", code, limits, sessionKey: `attacker: ${attack}` });
        await expectHonest(sandbox!, attack, [...plainPrograms, witness]);
      });
    }
  });
}

const together = {
  "every attack at once": allAtOnce,
  "a builtin it seemed to own": stateAttacks["a builtin under the name of an assignment that never runs"]!,
};
suite(
  "pyodide, children shared by plain programs",
  () => pyodideSandbox({ limits, isolation: "run", warm: 1 }),
  together,
);
suite("pyodide, a child per trajectory", () => pyodideSandbox({ limits, warm: 1, most: 2 }), together);
suite("bubblewrap", () => bubblewrapSandbox({ limits }), stateAttacks, bubblewrapProblem() ?? false);
