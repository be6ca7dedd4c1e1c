/** Without its optional packages the software works, and what needs one names the command that installs it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { optionalPeers } from "../src/base/work/optional-peer.ts";

const root = join(import.meta.dirname, "..");
const source = (path: string): string => JSON.stringify(pathToFileURL(join(root, "src", path)).href);

/** Runs Node where no optional package can be found. */
function without(...args: string[]): string {
  const hidden = JSON.stringify(Object.keys(optionalPeers));
  const hook = `import { registerHooks } from "node:module";
    const hidden = ${hidden};
    registerHooks({ resolve(name, context, next) {
      if (hidden.some((peer) => name === peer || name.startsWith(peer + "/"))) throw Object.assign(new Error("Cannot find package " + name), { code: "ERR_MODULE_NOT_FOUND" });
      return next(name, context);
    } });`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(hook)}`, ...args],
    { encoding: "utf8", cwd: root, env: { ...process.env, COA_SANDBOX: "", COA_NSJAIL: "" } },
  );
  assert.equal(status, 0, stderr);
  return stdout;
}

describe("optional packages", () => {
  it("are named with their command by what needs them", () => {
    const said = without(
      "--input-type=module",
      "-e",
      `
      const { connectMcp } = await import(${source("tools/mcp/connect-mcp.ts")});
      const { openPostgres } = await import(${source("serve/store/postgres.ts")});
      const { chooseSandbox } = await import(${source("tools/sandbox/choose-sandbox.ts")});
      const sandbox = chooseSandbox();
      const tries = [
        () => connectMcp({ url: "http://127.0.0.1:9/" }),
        () => openPostgres("postgres://127.0.0.1:9/x"),
        async () => chooseSandbox({ kind: "pyodide" }),
      ];
      for (const attempt of tries) console.log(await attempt().then(() => "worked", (error) => error.name + ": " + error.message));
      await sandbox.close();
    `,
    );
    const commands = said.trim().split("\n");
    assert.deepEqual(
      commands.map((line) => line.replace(/^UsageError: .* needs the package /, "")),
      ["@modelcontextprotocol/client", "pg", "pyodide"].map((name) => `${name}: npm install ${name}`),
    );
  });
  it("leave the shipped model and the command line working", () => {
    const help = without(join(root, "src/cli/main.ts"), "ask", "--help");
    assert.match(help, /coa ask/);
  });
});
