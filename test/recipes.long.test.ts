/** Recipes that train, as a reader would run them; the short tier runs the pipeline of the quickstart itself (`quickstart.test.ts`). */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

/** Runs a recipe in a folder of its own; what it printed. */
function cook(recipe: string, args: (folder: string) => string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "coa-recipe-"));
  try {
    const file = join(import.meta.dirname, "..", "recipes", recipe);
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args(folder)], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("recipes/quickstart.ts", () => {
  it("runs with a toy model", () => {
    cook("quickstart.ts", (folder) => [folder, "--toy"]);
  });
});

describe("recipes/rl-loop.ts", () => {
  it("lets the shipped model practise", () => {
    assert.match(
      cook("rl-loop.ts", () => ["1"]),
      /^reward 0\.\d+, \d groups teach, \d+ tokens, loss -?\d/,
    );
  });
});
