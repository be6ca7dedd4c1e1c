import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { after, describe, it } from "node:test";
import { installPackage } from "./fixtures/installed-package.ts";

const root = join(import.meta.dirname, "..");

/** Runs a file as a reader would, without network or keys. */
function runs(file: string, ...args: string[]): void {
  const env = { ...process.env, OPENAI_BASE_URL: "", OPENAI_API_KEY: "" };
  const { status, stderr } = spawnSync(process.execPath, [resolve(root, file), ...args], { encoding: "utf8", env });
  assert.equal(status, 0, stderr);
}

/** Each example asserts its own result, in a project that has installed the package. */
describe("examples", () => {
  const folder = mkdtempSync(join(tmpdir(), "coa-examples-"));
  installPackage(folder);
  after(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of globSync("examples/[0-9]*.ts", { cwd: root }).sort())
    it(basename(file), () => {
      cpSync(join(root, file), join(folder, basename(file)));
      runs(join(folder, basename(file)));
    });
});

describe("recipes", () => {
  it("own-tools.ts", () => runs("recipes/own-tools.ts"));
  it("distill-your-traces.ts", () => runs("recipes/distill-your-traces.ts"));
});
