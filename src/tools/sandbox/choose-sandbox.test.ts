import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endlessMs } from "../../../test/fixtures/until.ts";
import { bubblewrapProblem } from "./bubblewrap.ts";
import { chooseSandbox, sandboxLevels } from "./choose-sandbox.ts";

describe("chooseSandbox", () => {
  it("takes Pyodide by default and runs both languages", async () => {
    const sandbox = chooseSandbox({ environment: {}, kind: "pyodide", warm: 0, limits: { wallMs: endlessMs } });
    assert.equal(sandbox.level.kind, "pyodide");
    assert.deepEqual(sandbox.languages, ["python"]);
    assert.equal((await sandbox.run({ language: "python", code: "print(1)" })).stdout, "1\n");
    await sandbox.close();
  });

  it("follows the environment", { skip: bubblewrapProblem() ?? false }, async () => {
    const sandbox = chooseSandbox({ environment: { COA_SANDBOX: "bubblewrap" } });
    assert.deepEqual([sandbox.level.kind, sandbox.level.strength], ["bubblewrap", "strong"]);
    await sandbox.close();
  });

  it("prefers what was configured and refuses what is incomplete or unknown", () => {
    assert.throws(() => chooseSandbox({ environment: { COA_SANDBOX: "nsjail" } }), /COA_NSJAIL/);
    assert.throws(() => chooseSandbox({ environment: { COA_SANDBOX: "docker" } }), /docker is not a sandbox/);
    assert.throws(() => chooseSandbox({ environment: { COA_NSJAIL: "/nonexistent" } }), /no nsjail at \/nonexistent/);
  });

  it("tells about every sandbox and which one is in force", async () => {
    const levels = await sandboxLevels({ environment: {}, kind: "pyodide" });
    assert.deepEqual(
      levels.map((level) => level.kind),
      ["pyodide", "bubblewrap", "nsjail"],
    );
    assert.deepEqual(
      levels.filter((level) => level.chosen).map((level) => level.kind),
      ["pyodide"],
    );
    for (const level of levels) {
      assert.ok(level.available ? level.caveats.length > 0 : (level.remedy ?? "").length > 10, level.kind);
    }
  });
});
