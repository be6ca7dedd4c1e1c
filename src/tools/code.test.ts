import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Sandbox, SandboxRequest, SandboxResult } from "../core/sandbox.ts";
import { codeTool, observationOf, readProgram } from "./code.ts";

const ok: SandboxResult = { verdict: "ok", exitCode: 0, stdout: "", stderr: "", ms: 1 };

describe("readProgram", () => {
  it("takes bare code as it is", () => {
    assert.deepEqual(readProgram("print(1)"), { language: "python", code: "print(1)", stdin: undefined });
  });

  it("joins Python fences with an empty line and reads the sh fence as standard input", () => {
    const text = "first\n```py\na = 1\n```\nthen\n```python\nprint(a)\n```\nwith\n```sh\n3\n4\n```\n";
    assert.deepEqual(readProgram(text), { language: "python", code: "a = 1\n\nprint(a)", stdin: "3\n4" });
  });

  it("accepts a fence that was never closed", () => {
    assert.equal(readProgram("```py\nprint(2)\n").code, "print(2)");
  });

  it("is not misled by fences inside a string of the program", () => {
    assert.equal(readProgram('```py\nx = "a ``` b"\nprint(x)\n```').code, 'x = "a ``` b"\nprint(x)');
  });

  it("knows JavaScript by its fence", () => {
    assert.equal(readProgram("```js\nconsole.log(1)\n```").language, "javascript");
  });
});

describe("observationOf", () => {
  it("speaks the paper's format", () => {
    assert.equal(
      observationOf({ ...ok, stdout: "5\n" }),
      "[EXECUTED] Code exited with status 0.\n[STDOUT:BEGIN]\n5\n[STDOUT:END]",
    );
    assert.equal(observationOf(ok), "[EXECUTED] Code exited with status 0.\n(no output)");
    assert.equal(
      observationOf({ ...ok, verdict: "failed", exitCode: 1, stdout: "a\n", stderr: "boom\n" }),
      "[FAILED] Code exited with status 1.\n[STDERR:BEGIN]\nboom\n[STDERR:END]\n[STDOUT:BEGIN]\na\n[STDOUT:END]",
    );
    assert.equal(observationOf({ ...ok, verdict: "timeout", exitCode: null }), "PROCESS_TIMEOUT");
    assert.equal(observationOf({ ...ok, verdict: "memory", exitCode: 1 }), "MEMORY_LIMIT_EXCEEDED");
    assert.match(observationOf({ ...ok, verdict: "crashed", stderr: "gone" }), /^NO_RESULT\n\[STDERR:BEGIN\]\ngone/);
  });

  it("never exceeds its limit and keeps head, tail and marks", () => {
    for (const verdict of ["ok", "failed", "timeout", "memory", "crashed"] as const) {
      for (const limit of [300, 600, 1536]) {
        const stdout = `first ${"x".repeat(5000)} last`;
        const text = observationOf({ verdict, exitCode: 1, stdout, stderr: stdout, ms: 1 }, limit);
        assert.ok(text.length <= limit, `${verdict} ${limit}: ${text.length}`);
        assert.match(text, /first /);
        assert.ok(text.endsWith("last\n[STDOUT:END]"), text.slice(-60));
      }
    }
    assert.ok(observationOf({ ...ok, stdout: "x".repeat(5000) }, 60).length <= 60);
  });
});

describe("codeTool", () => {
  it("runs the program in the trajectory's own session, with its limits", async () => {
    const seen: SandboxRequest[] = [];
    const sandbox: Sandbox = {
      level: { kind: "test", strength: "moderate", caveats: [] },
      languages: ["python"],
      async run(request) {
        seen.push(request);
        return { ...ok, stdout: "3\n" };
      },
      close: async () => {},
    };
    const tool = codeTool({ sandbox, limits: { cpuMs: 9 } });
    const { signal } = new AbortController();
    const output = await tool.execute({ code: "```py\nprint(3)\n```" }, { signal, trajectoryId: "t1" });
    assert.equal(output, "[EXECUTED] Code exited with status 0.\n[STDOUT:BEGIN]\n3\n[STDOUT:END]");
    assert.equal(seen[0]?.code, "print(3)");
    assert.equal(seen[0]?.sessionKey, "t1");
    assert.deepEqual(seen[0]?.limits, { cpuMs: 9 });
    assert.match(String(await tool.execute({ code: "```js\n1\n```" }, { signal })), /^ERROR: no javascript here/);
  });
});
