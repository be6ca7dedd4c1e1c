import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { importFiles } from "../../src/record/import-file.ts";
import { pythonFrameworks } from "./frameworks.ts";
import { judge } from "./judge.ts";
import { guide, guideWithTable, readResults } from "./results.ts";
import type { TrueCall } from "./scripted-model.ts";

const wire = join(import.meta.dirname, "wire");

/** What `npm run bench -- record-python` recorded of one task, read again. */
describe("Python programs as coa record run recorded them", async () => {
  const files = (await readdir(wire)).filter((name) => name.endsWith(".calls.jsonl"));
  for (const file of files) {
    it(file.replace(".calls.jsonl", ""), async () => {
      const truth = await readAllJsonl<TrueCall>(join(wire, file.replace(".calls.", ".truth.")));
      const runs = await importFiles([join(wire, file)], { format: "calls" });
      assert.deepEqual(judge(runs, truth, 1), { verdict: "right", why: [] });
    });
  }

  it("has the guide's table of what was measured", async () => {
    const text = await readFile(guide, "utf8");
    assert.equal(guideWithTable(text), text, "node test/python-frameworks/results.ts writes it");
    assert.ok(!Object.values(readResults().cells).includes("false"));
  });

  it("holds every pattern of every framework", () => {
    const wanted = pythonFrameworks.flatMap(({ app, tools, code }) =>
      [...tools, ...code].map((mode) => `${app}-${mode}.calls.jsonl`),
    );
    assert.deepEqual(files.toSorted(), wanted.toSorted());
  });
});
