import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { loadAppFiles } from "./app-files.ts";

it("gives whole pages to several first starts at once, and builds no more afterwards", async () => {
  const cache = await mkdtemp(join(tmpdir(), "coa-app-"));
  try {
    const said: string[] = [];
    const start = () => loadAppFiles((message) => said.push(message), cache);
    const [first, second] = await Promise.all([start(), start()]);
    assert.deepEqual(first, second);
    for (const { bytes } of first!.values()) assert.ok(bytes.length > 0);
    assert.equal((await readdir(cache)).length, 1);
    assert.equal(said.length, 2);
    assert.deepEqual(await start(), first);
    assert.equal(said.length, 2);
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
});
