import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

/** Runs a part at the size of a toy, in a folder of its own; what it printed. */
function played(part: string): string {
  const folder = mkdtempSync(join(tmpdir(), "coa-whole-paper-"));
  try {
    const file = join(import.meta.dirname, "whole-paper.ts");
    const args = [file, part, folder, "--seeds", "9", "--toy"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("bench/learning/whole-paper.ts", () => {
  it("teaches programs, with RL and its control, and prints the table", () => {
    assert.match(played("code"), /held-out instances, 2 tasks: greedy [\s\S]+instances, greedy: -?\d.+ points \[/);
  });

  it("does the same for calls side by side and for unseen tools", () => {
    assert.match(played("parallel"), /rounds per success/);
    assert.match(played("tools"), /unseen names, announced: .+ of 2/);
  });
});
