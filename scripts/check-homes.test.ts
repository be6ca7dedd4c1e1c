import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countSigns, misplaced } from "./check-homes.ts";
import { unusedGrants } from "./check-imports.ts";

const file = (path: string, text: string) => ({ path, text, imports: [] });

describe("a mechanism outside its home", () => {
  const copies: [what: RegExp, text: string, home: string][] = [
    [/worker thread/, "const worker = new Worker(url);", "src/base/work/thread.ts"],
    [/server/, "const server = createServer((request) => {});", "src/base/http/listen.ts"],
    [/back-off/, "await sleep(Math.min(5000, 100 * 2 ** tries), signal);", "src/base/work/retry.ts"],
    [/back-off/, "const delayMs = 500 * Math.pow(2, failures);", "src/base/work/retry.ts"],
    [/lines/, "for (let end = chunk.indexOf(10); end >= 0; )", "src/base/files/lines.ts"],
    [/lines/, 'import { createInterface } from "node:readline";', "src/base/files/lines.ts"],
    [/lines/, 'const lines = held.split("\\n");\n  held = lines.pop() ?? "";', "src/base/files/lines.ts"],
  ];
  for (const [what, text, home] of copies)
    it(`is refused with the line and what to use instead: ${text}`, () => {
      const [complaint = "", ...more] = misplaced([file("src/chain/copy.ts", `// why\n${text}\n`)]);
      assert.match(complaint, /^src\/chain\/copy\.ts:2: .* use \w+ /);
      assert.match(complaint, what);
      assert.deepEqual(more, []);
      assert.deepEqual(misplaced([file(home, text), file("src/chain/copy.test.ts", text)]), []);
    });

  it("is not seen in a size, a power of statistics or a question on the terminal", () => {
    const texts = [
      "const maxWaitingBytes = 2 ** 30;",
      "const flips = 2 ** moved.length;",
      'import { createInterface } from "node:readline/promises";',
      'const lines = text.split("\\n");',
    ];
    assert.deepEqual(misplaced(texts.map((text) => file("src/chain/fine.ts", text))), []);
  });
});

describe("countSigns", () => {
  it("counts reads of meta and casts to never, not what only looks so", () => {
    const read = ['task.meta["x"]', "run.meta?.x", "trajectory?.meta.x", 'meta["caller"]'];
    const fine = ["import.meta.url", "{ meta: given.meta }", "// it was never read", "meta: z.record()"];
    const files = [...read, ...fine, "value as never", "as neverending"].map((text) => file("src/chain/one.ts", text));
    assert.deepEqual(countSigns(files), { "reads of meta": read.length, "as never": 1 });
  });
});

describe("unusedGrants", () => {
  it("names a grant of the import table that no file uses, tests not counted", () => {
    const imports = (path: string) => [{ path, typeOnly: true }];
    const files = [
      { path: "src/chain/a.ts", text: "", imports: imports("src/base/work/retry.ts") },
      { path: "src/chain/a.test.ts", text: "", imports: imports("src/language/profile.ts") },
    ];
    const table = { chain: ["base", "base/work", "language"], cli: ["*"] };
    assert.deepEqual(unusedGrants(files, table), [
      "scripts/import-table.ts: chain may import language, and no file does",
    ]);
  });
});
