import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { reportFolder } from "../scripts/public-api.ts";

const root = join(import.meta.dirname, "..");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, { types?: string } | string>;
};

describe("the public API", () => {
  it("has the values of its reports; npm run check compares every field", async () => {
    for (const [entry, target] of Object.entries(exports)) {
      if (typeof target === "string" || !target.types || entry === "./register") continue;
      const source = target.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts");
      const module = (await import(pathToFileURL(join(root, source)).href)) as object;
      const report = readFileSync(join(root, reportFolder, `${entry === "." ? "index" : entry.slice(2)}.txt`), "utf8");
      const values = [...report.matchAll(/^(?:function|const|class) (\w+)/gm)].map(([, name]) => name);
      assert.deepEqual(Object.keys(module).toSorted(), [...new Set(values)].toSorted(), entry);
    }
  });
  it("shows the fields of a record, so that a changed one is a changed line", () => {
    const report = readFileSync(join(root, reportFolder, "index.txt"), "utf8");
    const trajectory = report.slice(report.indexOf("\ntype Trajectory\n")).split("\n\n")[0]!;
    for (const field of ["answer", "segments", "usage", "ending"])
      assert.match(trajectory, new RegExp(`^  ${field}\\??: `, "m"));
    assert.match(trajectory, /^ {2}segments: Segment\[\]$/m, "arrays show what they hold");
    assert.doesNotMatch(report, /<K, V>|: \{\}$/m, "the language's own types are known");
  });
});
