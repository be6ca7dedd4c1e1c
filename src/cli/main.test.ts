import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { coa } from "../../test/fixtures/run-coa.ts";
import { UsageError } from "../core/errors.ts";
import { flagsOf } from "./command.ts";
import { commands } from "./commands/index.ts";
import { createOutput, duration, progressLine } from "./output.ts";
import { shortFlags } from "./setting.ts";

describe("coa", () => {
  it("lists every command, and shows help with examples for each", async () => {
    const { code, stdout } = await coa("--help");
    assert.equal(code, 0);
    for (const name of Object.keys(commands)) {
      assert.ok(stdout.includes(name), name);
      const help = await coa(...name.split(" "), "--help");
      assert.equal(help.code, 0);
      assert.match(help.stdout, /Examples:\n\s+\S/, name);
      assert.match(help.stdout, /--json/, name);
    }
  });

  it("says what is wrong with a command or a flag it does not know", async () => {
    await assert.rejects(
      coa("dance"),
      (error) => error instanceof UsageError && /no command "dance"/.test(error.message),
    );
    await assert.rejects(coa("doctor", "--colour"), /no flag --colour.*See: coa doctor --help/s);
    await assert.rejects(
      coa("eval", "run", "Who?", "--best-of", "many"),
      /--best-of takes a whole number of at least 1/,
    );
    await assert.rejects(
      coa("ask", "Who?", "--top-p", "1"),
      /no flag --top-p: it is a setting, --set model\.topP=<value>/,
    );
  });

  it("gives each short flag one meaning on every command", async () => {
    assert.equal(new Set(Object.values(shortFlags)).size, Object.keys(shortFlags).length);
    assert.match((await coa("train", "sft", "--help")).stdout, /-m, --model/);
    assert.match((await coa("worker", "--help")).stdout, /-m, --model/);
    await assert.rejects(coa("ask", "Who?", "-m", "absent"), /no model "absent"/);
  });

  it("hides only flags that a command would have", async () => {
    for (const [name, { load }] of Object.entries(commands)) {
      const { default: command } = await load();
      const all = Object.keys(flagsOf({ ...command, hides: [] }));
      assert.deepEqual(command.hides?.filter((flag) => !all.includes(flag)) ?? [], [], name);
    }
  });

  it("says what was probably meant, and what a group can do", async () => {
    await assert.rejects(coa("quikstart"), /no command "quikstart": did you mean coa quickstart\?/);
    await assert.rejects(coa("train", "stf"), /no verb "stf": did you mean coa train sft\?/);
    await assert.rejects(coa("ask", "q", "--temprature", "1"), /no flag --temprature: did you mean --temperature\?/);
    const { code, stdout } = await coa("train", "--help");
    assert.equal(code, 0);
    assert.match(stdout, /train sft .*\n.*train rl/);
    assert.match((await coa("help", "train", "sft")).stdout, /^coa train sft <dataset>/);
  });

  it("prints one JSON value with --json and nothing else on stdout", async () => {
    const { stdout } = await coa("show", "web", "--json");
    assert.equal((JSON.parse(stdout) as { name: string }).name, "web");
  });

  it("exits 2 on wrong usage when run as a program", () => {
    const result = spawnSync(process.execPath, [join(import.meta.dirname, "main.ts"), "dance"], { encoding: "utf8" });
    assert.equal(result.status, 2);
    assert.match(result.stderr, /^coa: there is no command "dance"/);
    assert.equal(result.stdout, "");
  });
});

describe("progress", () => {
  it("shows count, figures and the time left", () => {
    const line = progressLine({ stage: "train", done: 25, total: 100, figures: { loss: 0.51234 } }, 60_000);
    assert.match(line, /train {2}█{5}░{15} {2}25\/100 {2}loss 0\.512 {2}3 min 0 s left/);
    assert.equal(duration(3_700_000), "1 h 1 min");
  });

  it("writes plain lines, not a living one, where stderr is no terminal", () => {
    let stderr = "";
    const out = createOutput(
      { stdout: { write: () => 0 }, stderr: { write: (text: string) => (stderr += text) } },
      () => 20_000,
    );
    out.progress({ stage: "x", done: 1, total: 2 });
    out.progress({ stage: "x", done: 2, total: 2 });
    assert.equal(stderr.split("\n").length, 2);
  });

  it("times every round and each of several works side by side by itself, without what was done before", () => {
    const lines: string[] = [];
    let time = 0;
    const out = createOutput(
      { stdout: { write: () => 0 }, stderr: { write: (text: string) => lines.push(text.trim()) } },
      () => time,
    );
    const report = (stage: string, at: number, done: number, total: number) => {
      time = at * 1000;
      out.progress({ stage, done, total });
    };
    for (let at = 0; at <= 40; at++) for (const stage of ["a", "b"]) report(stage, at, at, 100);
    assert.equal(lines.length, 6);
    report("sft", 100, 0, 1000);
    report("sft", 1100, 1000, 1000);
    report("sft", 1101, 1, 200);
    report("sft", 1121, 21, 200);
    assert.match(lines.at(-1)!, /2 min 59 s left/);
    // A run that was resumed at step 500 says how long the rest takes at the speed of today.
    report("rl", 2000, 500, 600);
    report("rl", 2020, 510, 600);
    assert.match(lines.at(-1)!, /3 min 0 s left/);
  });
});
