/** Kill -9 at any time: of a child, and of us. There is always a result, the pool keeps working, and no process is left behind. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { testSize, whole } from "../../../test/fixtures/test-size.ts";
import { endlessMs, until } from "../../../test/fixtures/until.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import { codeTool } from "../code.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "./bubblewrap.ts";
import { processTree } from "./launch.ts";
import { pyodideSandbox } from "./pyodide-launch.ts";

const skipAll = process.platform === "linux" ? false : "processes are found through /proc";
const limits = { wallMs: endlessMs, cpuMs: 60_000 };

/** Processes below `pid` that have come as far as running the interpreter. */
const family = (pid: number): number[] => processTree(pid).filter((member) => member !== pid);

function cases(name: string, file: string, make: () => Sandbox, skip: string | false): void {
  describe(`${name} children killed from outside`, { skip: skipAll || skip }, () => {
    const sandbox = skipAll || skip ? undefined : make();
    after(() => sandbox?.close());

    it("gives the chain an observation and serves the next call", async () => {
      const tool = codeTool({ sandbox: sandbox!, limits });
      const context = { signal: new AbortController().signal, trajectoryId: "killed" };
      await tool.execute({ code: "print(1)" }, context);
      for (const delayMs of whole ? [0, 5, 40] : [5]) {
        const running = Promise.resolve(tool.execute({ code: "while True: pass" }, context));
        await until(() => family(process.pid).some((pid) => busy(pid)));
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        // Again and again: one killed before it got the program has been replaced by another that gets it.
        const killing = setInterval(() => family(process.pid).forEach(killOwn), 20);
        // A chain shows the model what a tool throws, too.
        const observation = await running.catch((error: Error) => error.message).finally(() => clearInterval(killing));
        assert.match(String(observation), /^(NO_RESULT|\[FAILED\])|did not start|could not start/);
        assert.match(String(await tool.execute({ code: "print(6 * 7)" }, context)), /42/);
      }
    });

    it("replaces children that are killed while they wait", async () => {
      for (let round = 0; round < testSize(1, 3); round++) {
        const waiting = family(process.pid);
        for (const pid of waiting) killOwn(pid);
        await until(() => !family(process.pid).some((pid) => waiting.includes(pid)));
        await new Promise((resolve) => setImmediate(resolve));
        const { stdout } = await sandbox!.run({
          language: "python",
          code: "print(5)",
          sessionKey: `r${round}`,
          limits,
        });
        assert.equal(stdout, "5\n");
      }
    });

    it("leaves no orphan when we are killed ourselves", async () => {
      const source = `
        import { ${name}Sandbox } from ${JSON.stringify(fileURLToPath(new URL(`./${file}`, import.meta.url)))};
        const sandbox = ${name}Sandbox({ warm: 1, limits: ${JSON.stringify(limits)} });
        await sandbox.run({ language: "python", code: "print(1)", sessionKey: "a" });
        console.log("ready");
        await sandbox.run({ language: "python", code: "while True: pass", sessionKey: "a" });`;
      const parent = spawn(process.execPath, ["--input-type=module", "-e", source], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await Promise.race([
        once(parent.stdout, "data"),
        once(parent, "exit").then(() => assert.fail("the child did not start")),
      ]);
      await until(() => family(parent.pid as number).some((pid) => busy(pid)));
      const children = family(parent.pid as number);
      assert.ok(children.length > 0);
      parent.kill("SIGKILL");
      await new Promise((resolve) => parent.once("close", resolve));
      // A bubblewrap that was just starting may be left waiting; the next sandbox made on this machine ends it.
      for (let looks = 0; looks < 300 && !children.every(gone); looks++)
        await new Promise((resolve) => setTimeout(resolve, 10));
      await make().close();
      await until(() => children.every(gone));
    });
  });
}

function busy(pid: number): boolean {
  const command = read(`/proc/${pid}/cmdline`);
  return /python3|pyodide-boot/.test(command) && /^State:\s+R/m.test(read(`/proc/${pid}/status`));
}

function gone(pid: number): boolean {
  return !existsSync(`/proc/${pid}`) || /^State:\s+[ZX]/m.test(read(`/proc/${pid}/status`));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function killOwn(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}

cases("pyodide", "pyodide-launch.ts", () => pyodideSandbox({ warm: 1 }), false);
cases("bubblewrap", "bubblewrap.ts", () => bubblewrapSandbox(), bubblewrapProblem() ?? false);
