/** The recipe of the quickstart, as a reader would run it; the short tier runs the pipeline itself (`quickstart.test.ts`). */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

describe("recipes/quickstart.ts", () => {
  it("runs with a toy model", () => {
    const folder = mkdtempSync(join(tmpdir(), "coa-recipe-"));
    try {
      const recipe = join(import.meta.dirname, "..", "recipes/quickstart.ts");
      const { status, stderr } = spawnSync(process.execPath, [recipe, folder, "--toy"], { encoding: "utf8" });
      assert.equal(status, 0, stderr);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
