import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";

/** Each example asserts its own result, without network or keys. */
describe("examples", () => {
  const root = join(import.meta.dirname, "..");
  for (const file of globSync("examples/[0-9]*.ts", { cwd: root }).sort()) {
    it(basename(file), () => {
      const env = { ...process.env, OPENAI_BASE_URL: "", OPENAI_API_KEY: "" };
      const { status, stderr } = spawnSync(process.execPath, [join(root, file)], { encoding: "utf8", env });
      assert.equal(status, 0, stderr);
    });
  }
});
