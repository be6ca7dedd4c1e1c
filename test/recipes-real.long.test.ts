/** The recipes with real models on the shipped one, which learns nothing from them: that they run, and are done once. */
import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { lookUps } from "../recipes/real/look-ups.ts";

const out = await mkdtemp(join(tmpdir(), "coa-real-"));
after(() => rm(out, { recursive: true, force: true }));

it("teaches and examines, does what is done no second time, and ends in a sentence", async (test) => {
  const model = join(import.meta.dirname, "..", "weights", "afm-lab-2m");
  const argv = ["--model", model, "--out", out, "--rows", "base,30", "--tests", "4"];
  await lookUps(argv);
  const done = ["exam-4/base", "exam-4/sft-30", "sft-30"].map((name) =>
    join(out, "look-ups", "seed-1", name, "done.json"),
  );
  const before = await Promise.all(done.map((file) => stat(file)));
  const print = test.mock.method(console, "log", () => {});
  await lookUps(argv);
  const printed = print.mock.calls.map((call) => String(call.arguments[0]));
  print.mock.restore();
  assert.match(printed[0]!, /the same command resumes it/);
  assert.match(
    printed.at(-1)!,
    /^Result: after sft-30 the model answers \d+ % of 4 new questions.* It is in .*sft-30.model$/,
  );
  const again = await Promise.all(done.map((file) => stat(file)));
  assert.deepEqual(
    again.map(({ mtimeMs }) => mtimeMs),
    before.map(({ mtimeMs }) => mtimeMs),
  );
});
