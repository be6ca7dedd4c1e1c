import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { checkWords } from "./check-words.ts";

describe("the words of flags, errors, comments and pages", () => {
  it("are refused by name and place; code in quotes is not", () => {
    const root = mkdtempSync(join(tmpdir(), "coa-words-"));
    try {
      mkdirSync(join(root, "docs"));
      mkdirSync(join(root, "src"));
      writeFileSync(join(root, "docs", "page.md"), "Fine.\nWhoever asks.\nRuns as `nobody`.\n");
      writeFileSync(
        join(root, "src", "a.ts"),
        '// somebody\nthrow new Error("nobody \\" answers");\nconst nobodyId = 1;\n',
      );
      const texts = [
        ["--steps", "1 unless said"],
        ["coa x", "Tell what works"],
        ["coa y", "Check what works"],
      ] as const;
      assert.deepEqual(checkWords(root, texts), [
        'docs/page.md:2: "Whoever"',
        'src/a.ts:1: "somebody"',
        'src/a.ts:2: "nobody"',
        '--steps: "unless said"',
        'coa x: begins with "Tell": begin with what it does to which object',
      ]);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
