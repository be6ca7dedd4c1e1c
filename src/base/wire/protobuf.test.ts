import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { protoFields, protoWriter } from "./protobuf.ts";

describe("protobuf", () => {
  it("reads back what it writes", () => {
    const writer = protoWriter();
    writer.integer(1, -3);
    writer.integer(2, 2n ** 63n);
    writer.double(3, 0.1);
    writer.float(4, 0.5);
    writer.text(5, "né");
    writer.message(6, (inner) => inner.integer(1, 300));
    const fields = [...protoFields(writer.finish())];
    assert.deepEqual(
      fields.map(({ field }) => field),
      [1, 2, 3, 4, 5, 6],
    );
    assert.deepEqual([fields[0]!.integer, fields[2]!.number, fields[3]!.number], [-3n, 0.1, 0.5]);
    assert.equal(BigInt.asUintN(64, fields[1]!.integer), 2n ** 63n);
    assert.equal(new TextDecoder().decode(fields[4]!.bytes), "né");
    assert.equal([...protoFields(fields[5]!.bytes)][0]!.number, 300);
  });

  it("refuses what is outside the format", () => {
    for (const [bytes, reason] of [
      [[0x08], /middle of a number/],
      [[0x08, ...Array(10).fill(0x80), 0x01], /middle of a number/],
      [[0x0a, 0x05, 0x01], /bytes too early/],
      [[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], /bytes too early/],
      [[0x09, 0x01], /bytes too early/],
      [[0x00, 0x01], /with the number 0/],
      [[0x0b], /unknown kind 3/],
    ] as const) {
      assert.throws(() => [...protoFields(Uint8Array.from(bytes))], reason);
    }
  });
});
