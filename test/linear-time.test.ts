/**
 * Hostile text must cost linear time wherever foreign text is read: an attacker's page, a model's endless answer, a
 * body that passes through the recorder. Every reader is given half of the motifs up to 40 kB and one in forty up to
 * 1 MB; the long tier takes all of them up to 1 MB.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sweep } from "./hostile-text/linear-time.ts";
import { readers } from "./hostile-text/readers.ts";
import { repeatedMotifs } from "./hostile-text/texts.ts";

describe("processor time on hostile text", () => {
  for (const [name, read] of Object.entries(readers)) {
    it(`grows with the length of the text and no faster: ${name}`, async () => {
      const upTo = (at: number) => ((at + name.length) % 20 === 0 ? 1_000_000 : 40_000);
      const half = repeatedMotifs(0).filter((_, at) => (at + name.length) % 2 === 0);
      assert.deepEqual(await sweep(read, half, upTo), []);
    });
  }
});
