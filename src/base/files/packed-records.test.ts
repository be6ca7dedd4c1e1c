import assert from "node:assert/strict";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openPackedRecords, packRecord, readPackedRecords } from "./packed-records.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-packed-"));
after(() => rm(folder, { recursive: true, force: true }));

const numbers = (count: number, of: (at: number) => number) => Array.from({ length: count }, (_, at) => of(at));
const record = {
  id: "a",
  tokens: numbers(100, (at) => at * 7),
  logprobs: numbers(100, (at) => -Math.fround(at / 3)),
  exact: numbers(100, (at) => -at / 3),
  negativeZero: numbers(9, () => -0),
  large: numbers(9, (at) => 2 ** 40 + at),
  short: [1, 2],
  mixed: [...numbers(9, () => 1), null],
  nested: [{ list: [numbers(8, (at) => at), "0"] }, 0, null],
  hostile: { $i4: [0, 8], "0": 0, constructor: [1] },
};

describe("packed records", () => {
  it("gives every record back exactly, whatever it contains", async () => {
    const file = join(folder, "all.bin");
    const records = [record, "text", null, numbers(20, (at) => at), { empty: {}, missing: undefined }];
    const writer = await openPackedRecords<unknown>(file);
    await Promise.all(records.map((one) => writer.append(one)));
    await writer.close();
    const expected = [...records.slice(0, 4), { empty: {} }];
    assert.deepEqual(await readPackedRecords(file), expected);
    assert.deepEqual(await readPackedRecords(join(folder, "none.bin")), []);
  });

  it("is less than half as large as JSON", () => {
    const text = JSON.stringify({
      tokens: numbers(5000, (at) => 1000 + at * 20),
      logprobs: numbers(5000, (at) => -1 / (at + 3)),
    });
    assert.ok(packRecord(JSON.parse(text)).length * 2 < text.length);
  });

  it("cuts off a torn end, keeps what stands before, and continues there", async () => {
    const file = join(folder, "torn.bin");
    for (const torn of [1, 9, 60]) {
      const writer = await openPackedRecords<unknown>(file);
      await writer.append({ torn });
      await writer.close();
      await appendFile(file, packRecord(record).subarray(0, torn));
    }
    assert.deepEqual(await readPackedRecords(file), [{ torn: 1 }, { torn: 9 }, { torn: 60 }]);
    const bytes = await readFile(file);
    bytes[10]! ^= 1;
    await rm(file);
    await appendFile(file, bytes);
    assert.deepEqual(await readPackedRecords(file), [], "a damaged record is not given back");
  });
});
