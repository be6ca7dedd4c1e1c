import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { blockFormat, readBlocks, writeQ8 } from "./gguf-format.ts";

interface Reference {
  type: number;
  name: string;
  /** Random blocks, base64. */
  blocks: string;
  /** Of the 32-bit floats that the Python package `gguf` reads in them. */
  sha256: string;
}

const file = join(import.meta.dirname, "../../../../test/fixtures/gguf-blocks.json");
const references = JSON.parse(readFileSync(file, "utf8")) as Reference[];

describe("readBlocks", () => {
  for (const { type, name, blocks, sha256 } of references) {
    it(`reads ${name} bit for bit as llama.cpp's own package does`, () => {
      const format = blockFormat(type, "a tensor");
      assert.equal(format.name, name);
      const values = readBlocks(new Uint8Array(Buffer.from(blocks, "base64")), format);
      assert.equal(createHash("sha256").update(new Uint8Array(values.buffer)).digest("hex"), sha256);
    });
  }

  it("reads what writeQ8 writes, within half a step of each block", () => {
    const data = Float32Array.from({ length: 96 }, (_, index) => Math.sin(index) * 10 ** (index % 3));
    const read = readBlocks(new Uint8Array(writeQ8(data)), blockFormat(8, "a tensor"));
    for (const [index, value] of data.entries()) {
      const block = data.subarray(index - (index % 32), index - (index % 32) + 32);
      const step = Math.max(...block.map(Math.abs)) / 127;
      assert.ok(Math.abs(value - read[index]!) <= step * 0.51);
    }
  });

  it("names the tensor and what can be read where a format is unknown", () => {
    assert.throws(() => blockFormat(19, "tensor x in y.gguf"), /tensor x in y\.gguf has number format 19; f32, .*q6_k/);
  });
});
