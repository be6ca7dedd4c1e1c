/** `coa up` on five hundred files, a huge log and a binary one: what it says it will take is what it takes, and it asks about many files. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startScriptedLlm } from "./fixtures/scripted-llm.ts";
import { coaToItsEnd, folder, tiny } from "./fixtures/up-inputs.ts";

interface Planned {
  folder: string;
  estimate: { parts: { part: string; calls: number; promptTokens: number; completionTokens: number }[] };
  steps: { name: string; command: string }[];
}

/** The words of a command line, quotes taken off. */
const wordsOf = (command: string) => (command.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));

function manyFiles(): string {
  const many = join(folder, "many");
  mkdirSync(join(many, "deep"), { recursive: true });
  const things = ["harbour master", "oldest bridge", "market day", "patron saint"];
  for (let i = 0; i < 500; i++) {
    const town = `Town${String(i).padStart(3, "0")}`;
    const facts = things.map((thing, k) => `The ${thing} of ${town} is Name${(i * 7 + k * 131) % 997}.`);
    const filler = "People come here in summer and walk along the river. ".repeat(i % 40);
    writeFileSync(join(many, i % 2 ? "deep" : "", `${town}.md`), `# ${town}\n\n${facts.join(" ")}\n\n${filler}\n`);
  }
  const line = (n: number) =>
    `2026-11-18T10:00:${n % 60} INFO worker ${n % 17} has finished request ${n} without a warning\n`;
  writeFileSync(join(many, "aaa-server.txt"), Array.from({ length: 40_000 }, (_, n) => line(n)).join(""));
  writeFileSync(join(many, "picture.txt"), Buffer.from(Array.from({ length: 200_000 }, (_, n) => (n * 7919) % 256)));
  return many;
}

describe("coa up on five hundred files, a huge one and a binary one", () => {
  it("estimates calls and tokens within a factor of 1.5, and asks about at least 60 files", async () => {
    const many = manyFiles();
    const llm = await startScriptedLlm();
    try {
      const up = ["up", many, "--base-url", llm.url, ...tiny];
      const dry = await coaToItsEnd([...up, "--dry-run", "--json"]);
      assert.equal(dry.code, 0, dry.stderr);
      assert.equal(llm.calls(), 0);
      const { estimate, steps, folder: out } = JSON.parse(dry.stdout) as Planned;
      for (const name of ["index", "tasks", "team"]) {
        const { command } = steps.find((step) => step.name === name)!;
        const done = await coaToItsEnd(wordsOf(command).slice(1));
        assert.equal(done.code, 0, done.stderr.slice(-2000));
      }
      const lines = async (file: string) =>
        (await readFile(join(out, file), "utf8"))
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line));
      const calls = await lines("spending.jsonl");
      const spent = calls.reduce((sum, one) => sum + one.promptTokens + one.completionTokens, 0);
      const said = estimate.parts.reduce((sum, one) => sum + one.promptTokens + one.completionTokens, 0);
      const saidCalls = estimate.parts.reduce((sum, one) => sum + one.calls, 0);
      const within = (a: number, b: number) => Math.max(a, b) / Math.min(a, b);
      assert.ok(within(calls.length, saidCalls) <= 1.5, `${saidCalls} calls were said, ${calls.length} made`);
      assert.ok(within(spent, said) <= 1.5, `${said} tokens were said, ${spent} used`);
      const tasks = await lines("tasks.jsonl");
      const files = new Set(tasks.flatMap(({ documents }) => documents.map((id: string) => id.replace(/#.*/, ""))));
      assert.ok(files.size >= 60, `${tasks.length} questions from ${files.size} files`);
    } finally {
      await llm.close();
    }
  });

  it("stops at twice the estimate, and goes on when it is started again", async () => {
    // A model that says far more than any team was seen to say.
    const llm = await startScriptedLlm({ tokens: 60_000 });
    try {
      const up = ["up", join(folder, "many"), "--base-url", llm.url, "--questions", "10", ...tiny];
      const stopped = await coaToItsEnd(up);
      assert.match(stopped.stderr, /tokens are used, and the limit is \d.*, twice what was estimated\. Start again/);
      const before = llm.calls();
      const again = await coaToItsEnd(up);
      assert.ok(llm.calls() > before, again.stderr.slice(-500));
    } finally {
      await llm.close();
    }
  });
});
