import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { publicApi, snapshotFile } from "../scripts/public-api.ts";

describe("the public API", () => {
  it("is what docs/public-api.txt says, name by name and signature by signature", () => {
    const kept = readFileSync(join(import.meta.dirname, "..", snapshotFile), "utf8").split("\n");
    const now = publicApi().split("\n");
    const message = "the public API changed: node scripts/public-api.ts --write, and say it in CHANGELOG.md";
    const changes = {
      gone: kept.filter((line) => !now.includes(line)),
      new: now.filter((line) => !kept.includes(line)),
    };
    assert.deepEqual(changes, { gone: [], new: [] }, message);
    assert.ok(!now.some((line) => line.endsWith(": not found")), "every name has a declaration");
  });
});
