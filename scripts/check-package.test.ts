import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { releaseProblems } from "./check-package.ts";

function problemsOf(manifest: object, changelog: string, tag?: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "coa-release-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(folder, "CHANGELOG.md"), changelog);
    return releaseProblems(folder, tag);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("a release", () => {
  const address = "https://example.org/coa";
  const complete = { version: "0.1.0", repository: address, homepage: address, bugs: address };

  it("is refused without the package's public addresses, by name", () => {
    const problems = problemsOf({ version: "0.1.0" }, "## 0.1.0 (2026-12-01)\n");
    assert.deepEqual(
      problems.map((problem) => /"(\w+)"/.exec(problem)?.[1]),
      ["repository", "homepage", "bugs"],
    );
  });

  it("is refused without a dated section of the changelog, or under another tag", () => {
    assert.match(problemsOf(complete, "## 0.1.0 (unreleased)\n").join(), /no section "## 0\.1\.0 \(year-month-day\)"/);
    assert.match(problemsOf(complete, "## 0.1.0 (2026-12-01)\n", "v0.2.0").join(), /the tag is v0\.2\.0/);
    assert.deepEqual(problemsOf(complete, "## 0.1.0 (2026-12-01)\n", "v0.1.0"), []);
  });
});
