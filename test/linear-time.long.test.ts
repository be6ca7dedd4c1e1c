/**
 * Every reader of foreign text and every motif up to 256 kB. `COA_LINEAR=full` takes them up to 1 MB with three choices of
 * what stands before and after, which takes long.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sweep } from "./hostile-text/linear-time.ts";
import { readers } from "./hostile-text/readers.ts";

const full = process.env["COA_LINEAR"] === "full";

describe("processor time on longer hostile text", () => {
  for (const [name, read] of Object.entries(readers)) {
    for (const salt of full ? [1, 2, 3] : [1]) {
      it(`grows with the length of the text and no faster: ${name}, ${salt}`, async () => {
        assert.deepEqual(await sweep(read, salt, () => (full ? 1_000_000 : 256_000)), []);
      });
    }
  }
});
