/**
 * Hostile text must cost linear time wherever foreign text is read: an attacker's page, a model's endless answer, a
 * body that passes through the recorder. Every reader is given every motif up to 64 kB and one in sixteen up to 1 MB; the
 * long tier takes all of them up to 256 kB.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sweep } from "./hostile-text/linear-time.ts";
import { readers } from "./hostile-text/readers.ts";

describe("processor time on hostile text", () => {
  for (const [name, read] of Object.entries(readers)) {
    it(`grows with the length of the text and no faster: ${name}`, async () => {
      const upTo = (at: number) => ((at + name.length) % 16 === 0 ? 1_000_000 : 64_000);
      assert.deepEqual(await sweep(read, 0, upTo), []);
    });
  }
});
