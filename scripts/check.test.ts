import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

const root = join(import.meta.dirname, "..");
const copy = join(mkdtempSync(join(tmpdir(), "coa-check-")), "tree");

/** Runs `npm run check` (its import and size parts) over the temporary copy. */
function check(): { status: number | null; text: string } {
  const args = [join(root, "scripts/check.ts"), "--root", copy, "--only", "imports,homes,sizes"];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, text: stdout };
}

/** Adds a file to the copy, checks, removes it. */
function checkWith(path: string, text: string): { status: number | null; text: string } {
  const file = join(copy, path);
  const existed = existsSync(file);
  assert.ok(!existed, `${path} is there already`);
  writeFileSync(file, text);
  try {
    return check();
  } finally {
    rmSync(file);
  }
}

describe("npm run check", () => {
  before(() => {
    cpSync(join(root, "src"), join(copy, "src"), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  });
  after(() => rmSync(join(copy, ".."), { recursive: true, force: true }));

  it("accepts the tree as it is", () => {
    const { status, text } = check();
    assert.equal(status, 0, text);
  });

  it("rejects an import that the table forbids", () => {
    const { status, text } = checkWith("src/core/spy.ts", 'export { openJsonl } from "../base/files/open-jsonl.ts";\n');
    assert.equal(status, 1);
    assert.match(text, /spy\.ts: core may not import base\/files/);
  });

  it("lets the studio read what a stage left on disk, and run nothing of it", () => {
    mkdirSync(join(copy, "src/studio/api"), { recursive: true });
    const line = (file: string) => `export * from "../../evaluate/${file}";\n`;
    assert.equal(checkWith("src/studio/api/look.ts", line("read-evaluation.ts")).status, 0);
    const refused = checkWith("src/studio/api/look.ts", line("run-evaluation.ts"));
    assert.match(refused.text, /studio\/api may import only read-\*\.ts and statistics\.ts of evaluate/);
    rmSync(join(copy, "src/studio"), { recursive: true });
  });

  it("rejects a mechanism outside its home", () => {
    const { status, text } = checkWith(
      "src/chain/own-thread.ts",
      "export const thread = new Worker(import.meta.url);\n",
    );
    assert.equal(status, 1);
    assert.match(text, /own-thread\.ts:1: a worker thread of its own: use startThread/);
  });

  it("rejects a circle of imports", () => {
    writeFileSync(join(copy, "src/core/hen.ts"), 'import { egg } from "./egg.ts";\nexport const hen = () => egg;\n');
    const { status, text } = checkWith(
      "src/core/egg.ts",
      'import { hen } from "./hen.ts";\nexport const egg = () => hen;\n',
    );
    rmSync(join(copy, "src/core/hen.ts"));
    assert.equal(status, 1);
    assert.match(text, /import cycle: .*egg\.ts.*hen\.ts/);
  });

  it("rejects a file that holds too much", () => {
    const { status, text } = checkWith("src/core/attic.ts", "export {};\n".repeat(401));
    assert.equal(status, 1);
    assert.match(text, /attic\.ts: 401 lines/);
  });
});
