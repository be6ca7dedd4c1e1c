import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { checkLimits, checkRatchet } from "./check-limits.ts";
import { limits } from "./limits.ts";

const root = mkdtempSync(join(tmpdir(), "coa-limits-"));

function git(...args: string[]): void {
  const who = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
  const { status, stderr } = spawnSync("git", [...who, ...args], { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

function write(path: string, text: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
}

const limitsText = (flags: number) => `export const limits = {\n  "distinct flags": ${flags},\n  commands: 40,\n};\n`;

function commit(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) write(path, text);
  git("add", "-A");
  git("commit", "-q", "-m", "step");
}

describe("the limits of the house", () => {
  before(() => {
    git("init", "-q");
    commit({ "scripts/limits.ts": limitsText(115), "src/a.ts": "export {};\n" });
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  it("may fall together with anything", () => {
    commit({ "scripts/limits.ts": limitsText(110), "src/a.ts": "export const a = 1;\n" });
    assert.deepEqual(checkRatchet(root), []);
  });

  it("do not rise together with code, committed or not", () => {
    write("scripts/limits.ts", limitsText(120));
    write("src/b.ts", "export {};\n");
    assert.match(checkRatchet(root).join(), /distinct flags raised together with src\/b\.ts/);
    commit({});
    assert.match(checkRatchet(root).join(), /distinct flags raised together with src\/b\.ts/);
  });

  it("do not rise without a decision", () => {
    commit({ "scripts/limits.ts": limitsText(125) });
    assert.match(checkRatchet(root).join(), /distinct flags raised without a decision/);
    commit({ "scripts/limits.ts": limitsText(130), "docs/decisions/why.md": "Why.\n" });
    assert.deepEqual(checkRatchet(root), []);
  });

  it("count lines of TypeScript and CSS without tests, and name what is passed", () => {
    write("src/c.css", "a {}\n".repeat(5));
    write("src/c.test.ts", "export {};\n".repeat(50));
    const passed = checkLimits(root, { commands: limits.commands + 1 });
    assert.deepEqual(passed.complaints.length, 1);
    assert.match(passed.complaints[0]!, /^commands: \d+, the limit is/);
    assert.ok(
      passed.table.some((row) => /^lines of src +7 of/.test(row)),
      passed.table.join("\n"),
    );
  });
});
