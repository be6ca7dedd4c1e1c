import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isProse, sampleDocuments } from "./sample-documents.ts";

const passages = (file: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${file}#${i}`, text: `Some words about ${file}, part ${i}.` }));
const fileOf = ({ id }: { id: string }) => id.replace(/#.*/, "");

describe("sampleDocuments", () => {
  const documents = [
    ...passages("a-huge-log", 1_000),
    ...Array.from({ length: 50 }, (_, i) => passages(`f${i}`, 2)).flat(),
  ];

  it("asks about every file before it asks about one again, whatever their sizes and names", () => {
    const sampled = sampleDocuments(documents);
    assert.equal(sampled.length, documents.length);
    assert.equal(new Set(sampled.slice(0, 51).map(fileOf)).size, 51);
    assert.notDeepEqual(sampled.slice(0, 51).map(fileOf), [...new Set(documents.map(fileOf))]);
  });

  it("follows its seed alone: a file that is added moves no other before another", () => {
    assert.deepEqual(sampleDocuments(documents, 3), sampleDocuments(documents.toReversed(), 3));
    assert.notDeepEqual(sampleDocuments(documents, 3), sampleDocuments(documents, 4));
    const more = sampleDocuments([...documents, ...passages("new", 1)], 3);
    assert.deepEqual(
      more.filter((one) => fileOf(one) !== "new"),
      sampleDocuments(documents, 3),
    );
  });

  it("leaves out numbers and bytes", () => {
    assert.ok(isProse({ text: "Die Fähre fährt um 7:00. 渡し船は七時に出ます。" }));
    assert.ok(!isProse({ text: "0x7f 12 99 1.5e3; ".repeat(50) }));
    assert.ok(!isProse({ text: "PK\u0003\u0004\ufffd\ufffdab\ufffd\u0000\u0001".repeat(20) }));
    assert.ok(!isProse({ text: "" }));
  });
});
