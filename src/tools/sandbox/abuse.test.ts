/**
 * The abuse suite, against every sandbox that works here, as root and as a normal user. What counts is the outside: no
 * connection, no file, no secret in the output, the victim untouched, nothing left running.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Sandbox, SandboxResult } from "../../core/sandbox.ts";
import { type AbuseCase, kernelAbuse, pyodideAbuse, pythonAbuse } from "./abuse-cases.ts";
import { type AbuseWorld, abuseWorld } from "./abuse-world.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "./bubblewrap.ts";
import { isRoot, readableByAll } from "./launch.ts";
import { processTree, treeMemoryMb } from "./process-tree.ts";
import { pyodideSandbox } from "./pyodide.ts";

const limits = { cpuMs: 10_000, wallMs: 30_000, memoryMb: 256, outputCharacters: 4_000 };
const short = { cpuMs: 1_000, wallMs: 2_000 };
const user = isRoot() ? "root" : "a normal user";
const linux = process.platform === "linux";

async function until(fact: () => boolean, tries = 400): Promise<boolean> {
  for (let left = tries; left > 0; left--) {
    if (fact()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return fact();
}

function suite(name: string, make: () => Sandbox, cases: AbuseCase[], skip: string | false): void {
  describe(`${name}, started by ${user}`, { skip }, () => {
    let sandbox: Sandbox;
    let world: AbuseWorld;
    before(async () => {
      world = await abuseWorld();
      sandbox = make();
    });
    after(async () => {
      const family = processTree(process.pid).filter((pid) => pid !== process.pid && pid !== world.victim);
      await sandbox.close();
      await world.close();
      assert.ok(await until(() => family.every((pid) => !processTree(process.pid).includes(pid))), "no child is left");
    });
    for (const one of cases) {
      it(`contains ${one.name}`, async () => {
        const before = treeMemoryMb(process.pid);
        let peak = 0;
        const watch = setInterval(() => {
          peak = Math.max(peak, treeMemoryMb(process.pid) - before);
        }, 40);
        let result: SandboxResult;
        try {
          const own = one.stopped ? { ...limits, ...short } : limits;
          result = await sandbox.run({ language: "python", code: one.code(world), limits: own, sessionKey: "hostile" });
        } finally {
          clearInterval(watch);
        }
        const output = `${result.stdout}${result.stderr}`;
        assert.doesNotMatch(output, /ESCAPED/, output);
        assert.ok(!output.includes(world.secret), "the secret is out");
        assert.ok(result.stdout.length <= limits.outputCharacters + 60, "the output is bounded");
        assert.equal(world.connections(), 0, "connections");
        assert.deepEqual(world.written(), [], "files in the canary folder");
        assert.ok(world.victimUntouched(), "the victim");
        // A child that replaces this one may be starting meanwhile: it has its own allowance.
        assert.ok(peak < 1_200, `${Math.round(peak)} MB more at its peak`);
        if (one.stopped) assert.notEqual(result.verdict, "ok");
        else assert.match(result.verdict, /^(ok|failed|crashed|memory)$/, output);
        assert.ok(await until(() => world.marked().length === 0), "a process was left behind");
        const next = await sandbox.run({ language: "python", code: "print(6 * 7)", limits, sessionKey: "honest" });
        assert.equal(next.stdout, "42\n", `an honest run afterwards: ${JSON.stringify(next)}`);
      });
    }
  });
}

const needsProc = linux ? false : "the outside is watched through /proc, which this system has not";
suite("pyodide", () => pyodideSandbox({ limits, warm: 1 }), [...pythonAbuse, ...pyodideAbuse], needsProc);
suite(
  "bubblewrap",
  () => bubblewrapSandbox({ limits }),
  [...pythonAbuse, ...kernelAbuse],
  needsProc || (bubblewrapProblem() ?? false),
);

const self = fileURLToPath(import.meta.url);
const mayRead = readableByAll(self) && readableByAll(process.execPath);
const asUser =
  !linux || !isRoot() ? "only root can become a normal user" : !mayRead && "other users can't read this folder";

describe("the same as a normal user", { skip: asUser }, () => {
  it("is contained as well", async () => {
    const home = mkdtempSync(join(tmpdir(), "coa-abuse-home-"));
    chmodSync(home, 0o777);
    const environment = { PATH: process.env["PATH"], HOME: home, TMPDIR: home };
    const identity = { uid: 54_321, gid: 54_321 };
    const child = spawn(process.execPath, ["--test-reporter=spec", self], { env: environment, cwd: "/", ...identity });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    const status = await new Promise((resolve) => child.once("close", resolve));
    rmSync(home, { recursive: true, force: true });
    assert.equal(status, 0, output);
    assert.match(output, /pyodide, started by a normal user/);
  });
});
