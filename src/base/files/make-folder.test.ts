import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { makeFolder } from "./make-folder.ts";

let root = "";
before(async () => {
  root = await mkdtemp(join(tmpdir(), "coa-folder-"));
});
after(() => rm(root, { recursive: true, force: true }));

describe("makeFolder", () => {
  it("makes a folder with those above it, by several callers at once, and leaves one that is there", async () => {
    const deep = join(root, "a", "b", "c");
    await Promise.all([makeFolder(deep), makeFolder(deep), makeFolder(join(root, "a", "d"))]);
    await makeFolder(deep);
    assert.ok((await stat(deep)).isDirectory());
  });

  it("says that a file is in the way", async () => {
    await writeFile(join(root, "file"), "");
    await assert.rejects(makeFolder(join(root, "file")), { code: "EEXIST" });
    await assert.rejects(makeFolder(join(root, "file", "below")), { code: "ENOTDIR" });
  });

  it("returns where folders can't be made below one that is there", { skip: !existsSync("/proc/self") }, async () => {
    await assert.rejects(makeFolder("/proc/coa/deeper"), { code: "ENOENT" });
  });
});
