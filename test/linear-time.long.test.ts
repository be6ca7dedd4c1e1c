/** Every reader of foreign text, every motif, from 16 kB to 1 MB, with three choices of what stands before and after. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sweep } from "./hostile-text/linear-time.ts";
import { readers } from "./hostile-text/readers.ts";

describe("processor time on hostile text up to 1 MB", () => {
  for (const [name, read] of Object.entries(readers)) {
    for (const salt of [1, 2, 3]) {
      it(`grows with the length of the text and no faster: ${name}, ${salt}`, async () => {
        assert.deepEqual(await sweep(read, salt, () => 1_000_000), []);
      });
    }
  }
});
