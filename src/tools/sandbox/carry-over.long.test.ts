/** The attacks of `carry-over.test.ts` once more, from a process of a normal user, where root runs the tests. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isRoot, readableByAll } from "./launch.ts";

const suite = fileURLToPath(new URL("./carry-over.test.ts", import.meta.url));
const readable = readableByAll(suite) && readableByAll(process.execPath);
const asUser = !isRoot() ? "only root can become a normal user" : !readable && "other users can't read this folder";

describe("sandboxes of a normal user", { skip: asUser }, () => {
  it("carry nothing from one program to another", async () => {
    const home = mkdtempSync(join(tmpdir(), "coa-carry-over-"));
    chmodSync(home, 0o777);
    const env = { PATH: process.env["PATH"], HOME: home, TMPDIR: home, COA_FULL: process.env["COA_FULL"] };
    const child = spawn(process.execPath, ["--test-reporter=spec", suite], { env, cwd: "/", uid: 54_321, gid: 54_321 });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    const status = await new Promise((resolve) => child.once("close", resolve));
    rmSync(home, { recursive: true, force: true });
    assert.equal(status, 0, output);
    assert.match(output, /pyodide, a child per trajectory, started by a normal user/);
  });
});
