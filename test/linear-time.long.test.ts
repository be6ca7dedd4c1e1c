/** Every reader of foreign text: every motif, and motifs met by chance, from 10 kB to 1 MB. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sweep } from "./hostile-text/linear-time.ts";
import { readers } from "./hostile-text/readers.ts";
import { mixedMotifs, repeatedMotifs } from "./hostile-text/texts.ts";

describe("processor time on hostile text up to 1 MB", () => {
  for (const [name, read] of Object.entries(readers)) {
    it(`grows with the length of the text and no faster: ${name}`, async () => {
      assert.deepEqual(await sweep(read, repeatedMotifs(1), () => 1_000_000), []);
      assert.deepEqual(await sweep(read, mixedMotifs(40, name), () => 160_000), []);
    });
  }
});
