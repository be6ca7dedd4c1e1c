import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { endlessMs } from "../../../test/fixtures/until.ts";
import { quickjsSandbox } from "./quickjs.ts";

describe("quickjsSandbox", () => {
  const sandbox = quickjsSandbox({ isolation: "run", warm: 1, limits: { memoryMb: 128, wallMs: endlessMs } });
  after(() => sandbox.close());
  const run = (code: string, more: object = {}) => sandbox.run({ language: "javascript", code, ...more });

  it("prints as Node prints", async () => {
    for (const [code, wanted] of [
      ["console.log(1 + 1, 'a', [1, 'b', { c: 2n }])", "2 a [ 1, 'b', { c: 2n } ]\n"],
      [
        "console.log(new Map([[1, 'x']]), new Set([1]), null, undefined, -0)",
        "Map(1) { 1 => 'x' } Set(1) { 1 } null undefined -0\n",
      ],
      ["console.log([], {}, [[1, [2, [3, [4]]]]])", "[] {} [ [ 1, [ 2, [Array] ] ] ]\n"],
      ["process.stdout.write('no newline')", "no newline"],
    ] as const) {
      assert.equal((await run(code)).stdout, wanted);
    }
  });

  it("reads standard input in the usual ways", async () => {
    const stdin = "3\n4\n";
    assert.equal((await run("console.log(require('fs').readFileSync(0, 'utf8').length)", { stdin })).stdout, "4\n");
    assert.equal(
      (await run("console.log(require('fs').readFileSync('/dev/stdin').toString().split('\\n')[1])", { stdin })).stdout,
      "4\n",
    );
    const byLine =
      "let sum = 0; require('readline').createInterface({ input: process.stdin }).on('line', (l) => sum += +l).on('close', () => console.log(sum))";
    assert.equal((await run(byLine, { stdin })).stdout, "7\n");
    const byEvent = "let all = ''; process.stdin.on('data', (d) => all += d).on('end', () => console.log(all.trim()))";
    assert.equal((await run(byEvent, { stdin })).stdout, "3\n4\n");
  });

  it("stops an endless chain of promises at its CPU limit, and says so", async () => {
    for (const code of [
      "const f = () => Promise.resolve().then(f); f()",
      "(async () => { for (;;) await null })()",
      "const f = () => Promise.resolve().then(f).catch(f); f(); console.log('begun')",
    ]) {
      const { verdict, exitCode } = await run(code, { limits: { cpuMs: 200 } });
      assert.deepEqual([verdict, exitCode === 0], ["timeout", false], code);
    }
  });

  it("finishes promises and timers in order, without waiting for the clock", async () => {
    const code =
      "setTimeout(() => console.log('late'), 90000); setTimeout(() => console.log('soon'), 5); (async () => { await null; console.log('micro') })(); console.log('now')";
    assert.equal((await run(code)).stdout, "now\nmicro\nsoon\nlate\n");
  });

  it("tells errors and exit codes", async () => {
    const thrown = await run("function f() { throw new TypeError('no') }\nf()");
    assert.equal(thrown.verdict, "failed");
    assert.match(thrown.stderr, /Uncaught TypeError: no\n\s+at f \(main\.js:1/);
    assert.equal((await run("process.exit(3)")).exitCode, 3);
    assert.equal((await run("(async () => { throw new Error('later') })()")).verdict, "failed");
    assert.match((await run("let = ")).stderr, /SyntaxError/);
  });

  it("contains loops, slow patterns, memory, recursion and floods", async () => {
    const limits = { cpuMs: 300, wallMs: endlessMs };
    assert.equal((await run("while (true) {}", { limits })).verdict, "timeout");
    assert.equal((await run("/(a+)+$/.test('a'.repeat(40) + 'b')", { limits })).verdict, "timeout");
    assert.equal((await run("for (;;) { try { for (;;) {} } catch {} }", { limits })).verdict, "timeout");
    assert.equal((await run("const kept = []; for (;;) kept.push(new Array(1e5).fill(0))")).verdict, "memory");
    assert.notEqual((await run("(function f() { f() })()")).verdict, "ok");
    const flood = await run("for (;;) console.log('x'.repeat(1000))", { limits });
    assert.equal(flood.verdict, "timeout");
    assert.ok(flood.stdout.length < 1_700);
    assert.equal((await run("console.log('fine')")).stdout, "fine\n");
  });

  it("has nothing of the host in reach and nothing of an earlier run", async () => {
    const probe = `
const names = ["fetch", "WebAssembly", "Worker", "Deno", "Bun", "XMLHttpRequest", "WebSocket", "__host", "std", "os"];
console.log(names.filter((name) => name in globalThis).join());
for (const work of [() => require("child_process"), () => require("fs").readFileSync("/etc/passwd", "utf8"), () => require("fs").writeFileSync("/tmp/x", "x"), () => process.binding("fs"), () => process.mainModule.require("fs"), () => Function("return process")().kill(1)])
  try { work(); console.log("ESCAPED") } catch (error) { }
import("node:fs").then(() => console.log("ESCAPED"), () => console.log("denied"));`;
    assert.equal((await run(probe)).stdout, "\ndenied\n");
    await run("globalThis.leak = 1; Array.prototype.leak = 2");
    assert.equal((await run("console.log(typeof leak, [].leak)")).stdout, "undefined undefined\n");
  });
});
