import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { after, describe, it } from "node:test";
import { endlessMs } from "../../../test/fixtures/until.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "./bubblewrap.ts";
import { controlGroups } from "./cgroup.ts";
import { isRoot, NotStarted, whenThereIsRoom } from "./launch.ts";
import { withLimits } from "./limits.ts";
import { startOneShot } from "./one-shot.ts";
import { systemCallFilter } from "./system-call-filter.ts";

const skip = bubblewrapProblem() ?? false;

describe("bubblewrapSandbox", { skip }, () => {
  const sandbox = skip ? undefined : bubblewrapSandbox({ limits: { wallMs: endlessMs }, concurrency: 4 });
  after(() => sandbox?.close());
  const run = (code: string, more: object = {}) => sandbox!.run({ language: "python", code, ...more });

  it("runs the system's Python as the main program, with standard input", async () => {
    const { stdout, verdict, exitCode } = await run(
      "import sys\nprint(__name__, __file__, sys.argv, sorted(n for n in globals() if not n.startswith('__')), input())",
      { stdin: "line\n" },
    );
    assert.equal(stdout, "__main__ main.py ['main.py'] ['sys'] line\n");
    assert.deepEqual([verdict, exitCode], ["ok", 0]);
    const pickled = "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)";
    assert.equal((await run(pickled)).stdout, "True\n");
  });

  it("tells exit codes, tracebacks, memory and time limits", async () => {
    assert.equal((await run("raise SystemExit(7)")).exitCode, 7);
    const failed = await run("def f():\n    return 1 / 0\nf()");
    assert.match(failed.stderr, /^Traceback \(most recent call last\):\n {2}File ".*main.py", line 3, in <module>/);
    assert.match((await run("print(")).stderr, /SyntaxError/);
    assert.equal((await run("x = bytearray(1 << 30)")).verdict, "memory");
    assert.equal((await run("while True: pass", { limits: { cpuMs: 1000 } })).verdict, "timeout");
    // On a busy machine the time may be over before Python has begun: then it gets more.
    for (let wallMs = 500, stdout = ""; stdout === ""; wallMs *= 2) {
      const slept = await run("print('on', flush=True)\nimport time; time.sleep(9999)", { limits: { wallMs } });
      stdout = slept.stdout;
      assert.ok(slept.verdict === "timeout" && ["", "on\n"].includes(stdout), JSON.stringify(slept));
    }
  });

  it("keeps nothing from one run to the next, even in one trajectory", async () => {
    await run("open('/tmp/x', 'w').write('1'); open('y', 'w').write('2')", { sessionKey: "t" });
    assert.equal(
      (await run("import os; print(os.listdir('/tmp'), os.listdir('.'))", { sessionKey: "t" })).stdout,
      "[] ['main.py']\n",
    );
  });

  it("takes programs and inputs larger than a pipe", async () => {
    const lines = Array.from({ length: 50_000 }, (_, at) => `${at}`);
    const code = `# ${"x".repeat(500_000)}\nimport sys\nprint(sum(map(int, sys.stdin)))`;
    assert.equal((await run(code, { stdin: lines.join("\n") })).stdout, `${(50_000 * 49_999) / 2}\n`);
    const { stdout } = await run("print('z' * 300000)", { limits: { outputCharacters: 1_000_000 } });
    assert.equal(stdout.length, 300_001);
  });

  it("runs many at once, each with its own answer", async () => {
    const results = await Promise.all(Array.from({ length: 12 }, (_, at) => run(`print(${at} * ${at})`)));
    assert.deepEqual(
      results.map((result) => result.stdout),
      Array.from({ length: 12 }, (_, at) => `${at * at}\n`),
    );
  });

  it("can be aborted", async () => {
    const controller = new AbortController();
    const running = run("import time; time.sleep(60)", { signal: controller.signal });
    setTimeout(() => controller.abort(), 30);
    await assert.rejects(running, { name: "AbortError" });
    assert.equal((await run("print(1)")).stdout, "1\n");
  });
});

describe("a sandbox that can't start its program", { skip }, () => {
  const status = (more: string) => ["-c", `printf '{ "child-pid": %d }\\n' $$ >&4; ${more}`];
  const start = (script: string) => startOneShot({ command: "/bin/sh", args: status(script), prepare: () => {} });
  const program = { input: "", stdin: "", limits: withLimits({ wallMs: endlessMs }) };

  it("is not taken for a program that failed", async () => {
    const child = await start("echo 'bwrap: no room' >&2; exit 1");
    await assert.rejects(child.run(program), /\/bin\/sh did not start: bwrap: no room/);
    const broken = bubblewrapSandbox({ python: "/usr/share" });
    await assert.rejects(
      broken.run({ language: "python", code: "print(1)" }),
      /did not start: bwrap: execvp \/usr\/share/,
    );
    await broken.close();
    const gone = startOneShot({
      command: "/bin/sh",
      args: status("exit 1"),
      prepare: () => assert.fail("no such process"),
    });
    await assert.rejects(gone, /did not start: no such process/);
  });

  it("lets a program that says the same fail by itself", async () => {
    const child = await start("echo 'bwrap: no room' >&2; echo '{ \"exit-code\": 1 }' >&4; exit 1");
    assert.equal((await child.run(program)).verdict, "failed");
    const honest = bubblewrapSandbox({ limits: { wallMs: endlessMs } });
    const code = "import sys; sys.stderr.write('bwrap: Resource temporarily unavailable'); sys.exit(1)";
    assert.equal((await honest.run({ language: "python", code })).verdict, "failed");
    await honest.close();
  });

  it("waits while the machine has no room for another process", async () => {
    let tries = 0;
    const full = async () => {
      if (++tries < 3) throw new NotStarted("bwrap", "Can't fork for pid 1: Resource temporarily unavailable");
      return "ran";
    };
    assert.equal(await whenThereIsRoom(full), "ran");
    await assert.rejects(
      whenThereIsRoom(async () => {
        throw new NotStarted("bwrap", "execvp failed");
      }),
      /execvp failed/,
    );
    tries = -99;
    await assert.rejects(whenThereIsRoom(full, AbortSignal.timeout(60)), { name: "AbortError" });
  });
});

describe("controlGroups", () => {
  const groups = controlGroups();
  it("makes, limits, reuses and removes groups", { skip: groups ? false : "no group can be made here" }, () => {
    const first = groups!.take({ memoryMb: 64, processes: 8 });
    const names = () => {
      const folder = groups!.version === 1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
      return readdirSync(folder).filter((name) => name.startsWith(`coa-sandbox-${process.pid}-`));
    };
    const before = names().length;
    groups!.free(first);
    assert.equal(groups!.take({ memoryMb: 32, processes: 8 }), first);
    assert.equal(names().length, before);
    groups!.close();
    assert.equal(names().length, before - 1);
    assert.ok(isRoot() || existsSync("/sys/fs/cgroup"));
  });

  it("never gives a group in which a process is left, or that another sandbox of this process has", {
    skip: groups ? false : "no group can be made here",
  }, async () => {
    const [own, others] = [controlGroups()!, controlGroups()!];
    const group = own.take({ memoryMb: 64, processes: 8 });
    const stranger = others.take({ memoryMb: 64, processes: 8 });
    const left = spawn("/usr/bin/sleep", ["999"], { stdio: "ignore" });
    group.join(left.pid!);
    assert.equal(stranger.isEmpty(), true);
    own.free(group);
    const other = own.take({ memoryMb: 64, processes: 8 });
    assert.notEqual(other, group);
    own.free(other);
    left.kill("SIGKILL");
    await once(left, "close");
    assert.ok([own.take({ memoryMb: 64, processes: 8 }), own.take({ memoryMb: 64, processes: 8 })].includes(group));
    own.close();
    others.close();
  });

  it("says so where there is nothing to make them in", () => {
    assert.equal(controlGroups("/nonexistent"), undefined);
  });
});

describe("systemCallFilter", () => {
  // The kernel's own reading of the filter, in a few lines.
  function interpret(filter: Uint8Array, call: number, audit: number): number {
    const view = new DataView(filter.buffer);
    let accumulator = 0;
    for (let at = 0; ; at++) {
      const [code, yes, no, value] = [
        view.getUint16(at * 8, true),
        view.getUint8(at * 8 + 2),
        view.getUint8(at * 8 + 3),
        view.getUint32(at * 8 + 4, true),
      ];
      if (code === 0x20) accumulator = value === 4 ? audit : call;
      else if (code === 0x15) at += accumulator === value ? yes : no;
      else if (code === 0x35) at += accumulator >= value ? yes : no;
      else if (code === 0x06) return value;
      else throw new Error(`unknown instruction ${code}`);
    }
  }

  it("refuses ptrace, mount and their kind, allows the rest, kills calls of another architecture", () => {
    const filter = systemCallFilter("x64")!;
    const [allow, refuse, kill] = [0x7fff0000, 0x00050001, 0x80000000];
    for (const call of [101, 165, 166, 272, 308, 321, 425, 442, 0x40000000 + 1]) {
      assert.equal(interpret(filter, call, 0xc000003e), refuse, `${call}`);
    }
    for (const call of [0, 1, 2, 9, 56, 57, 59, 61, 231, 257, 435]) {
      assert.equal(interpret(filter, call, 0xc000003e), allow, `${call}`);
    }
    assert.equal(interpret(filter, 0, 0x40000003), kill);
    assert.equal(interpret(systemCallFilter("arm64")!, 117, 0xc00000b7), refuse);
    assert.equal(systemCallFilter("mips"), undefined);
  });
});
