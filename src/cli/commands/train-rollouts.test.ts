/** `coa train rl` and `coa train opd` on the shipped model, small: one step each, with the lab's tools and scripted team. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { coa, coaWith } from "../../../test/fixtures/run-coa.ts";
import { aroundTraining, at, metrics, shipped, train, trainArguments } from "../../../test/fixtures/train-shipped.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { trainTokenizer } from "../../tokenizers/train-tokenizer.ts";
import type { Rollout } from "../../train/run-rollout.ts";

aroundTraining();

describe("coa train rl", () => {
  it("practises among failing tools, credits what follows a fault, and averages the last steps", async () => {
    const { code, stderr } = await train(
      "rl",
      "rl",
      "--tool-faults",
      "web_search:empty=0.7",
      "--samples",
      "4",
      "--set",
      "train.credit=after-fault",
      "--set",
      "train.average=1",
      "--set",
      "train.startShare=0.3",
      // A seed whose groups differ after a fault.
      "--seed",
      "5",
    );
    assert.equal(code, 0, stderr);
    const rollouts = await readAllJsonl<Rollout>(join(at("rl"), "rollouts.jsonl"));
    const struck = rollouts.flatMap(({ trajectory }) => trajectory.segments.filter(({ call }) => call?.fault));
    assert.ok(struck.length > 0);
    assert.ok(struck.every(({ text, call }) => text.includes("no results") && call?.fault === "empty"));
    const line = await metrics("rl");
    assert.ok(line["updates"] === 1 && (line["ratioGap"] ?? 1) < 1e-3, JSON.stringify(line));
  });

  it("leaves rollouts from which distillation keeps the right ones: rejection sampling", async () => {
    const rollouts = await readAllJsonl<Rollout>(join(at("rl"), "rollouts.jsonl"));
    const right = rollouts.filter(({ correct }) => correct).length;
    const filters = ["--set", "distill.minInteractions=1", "--set", "distill.skip=reflection,near-duplicate,diversity"];
    const made = await coa(
      "distill",
      "run",
      join(at("rl"), "rollouts.jsonl"),
      "--tasks",
      at("tasks.jsonl"),
      "--profile",
      "lab",
      ...filters,
      "--out",
      at("kept"),
    );
    assert.equal(made.code, 0, made.stderr);
    const kept = await readAllJsonl<{ answer: string }>(join(at("kept"), "trajectories.jsonl"));
    assert.ok(
      kept.length > 0 && kept.length <= right,
      `${kept.length} kept of ${right} right and ${rollouts.length} in all`,
    );
  });

  it("lets workers play the rollouts, and refuses one with other tools", async () => {
    const address = Promise.withResolvers<string>();
    const training = coaWith(
      { heard: (text) => text.includes("http:") && address.resolve(/http:\S+/.exec(text)![0]) },
      ...trainArguments("rl", "by-workers", "--workers-port", "0", "--groups", "1"),
    );
    const coordinator = ["--coordinator", await address.promise, "--model", shipped];
    await assert.rejects(
      coa("worker", ...coordinator, "--profile", "web", "--name", "w-1"),
      /worker w-1 is refused: .*profile is web/,
    );
    const worker = await coa("worker", ...coordinator, "--profile", "lab", "--json");
    assert.equal(worker.code, 0, worker.stderr);
    const { stderr } = await training;
    const rollouts = await readAllJsonl<Rollout>(join(at("by-workers"), "rollouts.jsonl"));
    assert.equal(JSON.parse(worker.stdout).counted, rollouts.length, stderr);
    assert.ok(rollouts.every(({ trajectory }) => trajectory.segments.some(({ logprobs }) => logprobs !== undefined)));
    await assert.rejects(coa("worker", "--model", shipped), /--coordinator <url>/);
    await assert.rejects(
      train("rl", "x", "--workers-port", "0", "--tool-faults", "web_search:empty=1"),
      /leave --workers-port out/,
    );
    const open = train("rl", "x", "--workers-port", "0", "--set", "workers.host=0.0.0.0");
    await assert.rejects(open, { code: "open-to-all", hint: { option: "keys", flag: "set workers.key=<key>" } });
  });

  it("imitates demonstrations beside its rollouts, and refuses those of another vocabulary", async () => {
    const built = (out: string, ...tokenizer: string[]) =>
      coa("dataset", "build", join(at("kept"), "trajectories.jsonl"), "--out", at(out), ...tokenizer);
    assert.equal((await built("guard", "--tokenizer", shipped)).code, 0);
    const { code, stderr } = await train(
      "rl",
      "guarded",
      "--tool-faults",
      "web_search:empty=0.8",
      "--samples",
      "4",
      "--guard",
      at("guard"),
      "--groups",
      "1",
    );
    assert.equal(code, 0, stderr);
    const manifest = await readFile(join(at("guarded"), "manifest.json"), "utf8");
    assert.match(manifest, /"name": *"guard",\s*"coefficient": *1,\s*"data"/);
    assert.equal((await built("strange", "--vocabulary", "300")).code, 0);
    await assert.rejects(train("rl", "x", "--guard", at("strange")), /made with a vocabulary of/);
  });

  it("takes a preset's settings where none is set: failing searches, trees, its own right chains as guard", async () => {
    const { code, stderr } = await train("rl", "preset", "--preset", "faults");
    assert.ok(code === 0 || /nothing was learned/.test(stderr), stderr);
    const { configuration: config } = JSON.parse(await readFile(join(at("preset"), "manifest.json"), "utf8"));
    assert.deepEqual([config.trees, config.partialCredit, config.rateByGroups], [true, true, true]);
    assert.deepEqual(config.extraLosses, [{ name: "guard", coefficient: 1, data: "own" }]);
    assert.match(config.faults, /empty=0.25.*timeout=0.25/);
    assert.equal(config.samples, 2, "what is set for the call counts");
  });

  it("says that nothing was learned where no greedy answer changed, and prints the rate that it chose", async () => {
    const taught = ["--teacher", shipped, "--groups", "13", "--samples", "8"];
    const still = await train("opd", "still", ...taught, "--rate", "1e-12");
    assert.equal(still.code, 1);
    assert.match(still.stderr, /0 of 13 greedy answers changed, so nothing was learned: raise --rate \(it was 1e-12\)/);
    assert.deepEqual(JSON.parse(still.stdout).answers, { of: 13, changed: 0 });
    const all = trainArguments("opd", "usual", ...taught.slice(0, 3), "1");
    const { stderr } = await coa(...all.filter((word, at) => word !== "--rate" && all[at - 1] !== "--rate"));
    assert.match(stderr, /Rate 0.0003 for all weights \(2.07 M parameters\); --rate overrides/);
    const { mixedGroups, finishedGroups, entropy } = await metrics("still");
    assert.ok(mixedGroups! <= finishedGroups! && finishedGroups === 13 && entropy! > 0 && entropy! < 1);
  });

  it("refuses to credit after faults where there are none, and a context that is not one", async () => {
    await assert.rejects(train("rl", "x", "--set", "train.credit=after-fault"), /--tool-faults/);
    await assert.rejects(train("rl", "x", "--set", "train.credit=branch-at-fault"), /--tool-faults/);
    await assert.rejects(train("rl", "x", "--set", "train.context=many"), /16384,32768@40/);
  });
});

describe("coa train opd", () => {
  it("scores the student's tokens by a model: its own starting weights change nothing", async () => {
    const { code, stderr } = await train("opd", "model", "--teacher", shipped, "--groups", "1");
    assert.equal(code, 0, stderr);
    const line = await metrics("model");
    assert.ok(Number(line["trainedTokens"]) > 50 && Math.abs(Number(line["loss"])) < 1e-4, JSON.stringify(line));
  });

  it("lets the team correct failed chains", async () => {
    const { code, stderr } = await train(
      "opd",
      "team",
      "--teacher-team",
      "--scripted",
      "--tool-faults",
      "crawl_page:timeout=0.6",
      "--groups",
      "3",
    );
    assert.equal(code, 0, stderr);
    const line = await metrics("team");
    assert.ok(Number(line["asked"]) > 0 && Number(line["corrected"]) > 0, JSON.stringify(line));
  });

  it("refuses two teachers, none, and one of another vocabulary, before the first step", async () => {
    await assert.rejects(train("opd", "y"), /needs one teacher/);
    await assert.rejects(train("opd", "y", "--teacher", shipped, "--teacher-team"), /needs one teacher/);
    const tokenizer = trainTokenizer(["the cat sat on the mat"], { vocabularySize: 300, specialTokens: ["<think>"] });
    await tokenizer.save(at("tokenizer"));
    const size = ["--hidden", "32", "--layers", "1", "--heads", "1", "--tokenizer", at("tokenizer")];
    assert.equal((await coa("model", "new", at("stranger"), ...size)).code, 0);
    await assert.rejects(train("opd", "y", "--teacher", at("stranger")), /another vocabulary/);
  });
});
