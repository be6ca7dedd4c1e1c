import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createOutput } from "../src/cli/output.ts";
import type { Trajectory } from "../src/core/trajectory.ts";
import { emptyUsage } from "../src/core/usage.ts";
import { coa } from "./fixtures/run-coa.ts";

const hostile = [
  "\u001b]52;c;cm0gLXJmIC8=\u0007", "\u001b]0;title\u001b\\", "\u001b[2J\u001b[H", "\u001b[8mhidden\u001b[0m", "\u009b2J", "\u009d0;t\u009c", "safe\rover",
  "a\bb", "\u007f", "\u001bc", "\u202egnp.exe",
]; // biome-ignore format: a list
const control = /(?!\r\n)[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describe("what reaches a terminal", () => {
  it("has no control character of a text, whichever way it is written", () => {
    let said = "";
    const stream = { write: (text: string) => (said += text), isTTY: true, columns: 500 };
    const out = createOutput({ stdout: stream, stderr: stream });
    for (const text of hostile) {
      for (const way of [out.print, out.note, out.write, out.json]) way(text);
      out.progress({ stage: text, done: 1, total: 2, figures: { x: text } });
      out.endProgress();
    }
    assert.doesNotMatch(said.replaceAll("\r", ""), control); // the line of progress is ours
    assert.match(said, /\\u001b\]52;c;/);
    assert.match(said, /^safe\\u000dover$/m);
    said = "";
    out.json({ text: "\u009b2J\u202e" });
    assert.deepEqual(JSON.parse(said), { text: "\u009b2J\u202e" });
    said = "";
    out.print(`a\tb\r\nc ${"\u001b[32mgreen\u001b[39m"}`);
    assert.equal(said, "a\tb\r\nc \u001b[32mgreen\u001b[39m\n");
  });

  it("is clean where commands print ids, answers, file names and words of the command line", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-terminals-"));
    try {
      const file = join(folder, "chains.jsonl");
      const text = hostile.join(" ");
      const chain: Trajectory = {
        version: 1,
        id: text,
        taskId: text,
        profile: "web",
        model: text,
        prompt: [{ role: "user", content: text }],
        segments: [{ tag: "answer", by: "model", text }],
        answer: text,
        ending: { reason: "answered" },
        violations: [],
        source: { kind: "chain" },
        usage: emptyUsage(),
      };
      await writeFile(file, `${JSON.stringify(chain)}\n`.repeat(2));
      for (const words of [[file], [file, text, "--json"], [file, text]]) {
        const { stdout, stderr } = await coa("show", ...words);
        assert.match(stdout, /\\u001b\]52/);
        assert.doesNotMatch(stdout + stderr, control);
      }
      const main = join(import.meta.dirname, "../src/cli/main.ts");
      const refused = spawnSync(process.execPath, [main, `show${text}`], { encoding: "utf8" });
      assert.equal(refused.status, 2);
      assert.match(refused.stderr, /\\u001b\]52/);
      assert.doesNotMatch(refused.stdout + refused.stderr, control);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("comes from one place: nothing else in src writes to stdout or stderr as it is", () => {
    for (const file of globSync("src/**/*.ts", { exclude: (name) => /\.test\.ts$|cli\/output\.ts$/.test(name) })) {
      for (const line of readFileSync(file, "utf8").split("\n")) {
        if (!/process\.std(?:out|err)\.write\(|console\.(?:error|warn|info|log|debug)\(|emitWarning\(/.test(line))
          continue;
        assert.match(line, /printable\(|spent \$\{calls\}|^console\.log\(choices/, `${file}: ${line}`);
      }
    }
  });
});
