import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "..");

/** Runs a file as a reader would, without network or keys. */
function runs(file: string, ...args: string[]): void {
  const env = { ...process.env, OPENAI_BASE_URL: "", OPENAI_API_KEY: "" };
  const { status, stderr } = spawnSync(process.execPath, [join(root, file), ...args], { encoding: "utf8", env });
  assert.equal(status, 0, stderr);
}

/** Each example asserts its own result. */
describe("examples", () => {
  for (const file of globSync("examples/[0-9]*.ts", { cwd: root }).sort()) it(basename(file), () => runs(file));
});

describe("recipes", () => {
  it("own-tools.ts", () => runs("recipes/own-tools.ts"));
  it("distill-your-traces.ts", () => runs("recipes/distill-your-traces.ts"));
});
