/** `coa train rl` and `coa train opd` on the shipped model, small: one step each, with the lab's tools and scripted team. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { coa, coaWith } from "../../../test/fixtures/run-coa.ts";
import { servedLabTeam } from "../../../test/fixtures/served-lab-team.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { trainTokenizer } from "../../tokenizers/train-tokenizer.ts";
import type { Metrics } from "../../train/run-folder.ts";
import type { Rollout } from "../../train/run-rollout.ts";

const shipped = join(import.meta.dirname, "..", "..", "..", "weights", "afm-lab-2m");
let folder: string;
const at = (name: string) => join(folder, name);

const small = [
  "--steps",
  "1",
  "--groups",
  "2",
  "--samples",
  "2",
  "--updates",
  "1",
  "--rate",
  "1e-5",
  "--threads",
  "1",
  "--json",
];
const trainArguments = (verb: string, out: string, ...more: string[]) => [
  "train",
  verb,
  at("tasks.jsonl"),
  "--model",
  shipped,
  "--profile",
  "lab",
  "--bare-question",
  "--out",
  at(out),
  ...small,
  ...more,
];
const train = (...how: Parameters<typeof trainArguments>) => coa(...trainArguments(...how));
const metrics = async (run: string) => (await readAllJsonl<Metrics>(join(at(run), "metrics.jsonl")))[0]!;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-train-"));
  await coa("lab", "tasks", "--seed", "5", "--count", "30", "--family", "hop1", "--out", at("tasks.jsonl"));
});
after(() => rm(folder, { recursive: true, force: true }));

describe("coa train rl", () => {
  it("practises among failing tools, credits what follows a fault, and averages the last steps", async () => {
    const { code, stderr } = await train(
      "rl",
      "rl",
      "--tool-faults",
      "web_search:empty=0.6",
      "--credit-after-fault",
      "--average",
      "1",
      "--start-share",
      "0.3",
      // A seed whose groups differ after a fault.
      "--seed",
      "2",
    );
    assert.equal(code, 0, stderr);
    const rollouts = await readAllJsonl<Rollout>(join(at("rl"), "rollouts.jsonl"));
    const struck = rollouts.filter(({ trajectory }) => trajectory.meta?.["faults"]);
    assert.ok(struck.length > 0);
    assert.ok(struck.every(({ trajectory }) => trajectory.segments.some(({ text }) => text.includes("no results"))));
    const line = await metrics("rl");
    assert.ok(line["updates"] === 1 && (line["ratioGap"] ?? 1) < 1e-3, JSON.stringify(line));
  });

  it("practises tasks that fail greedily, at a rate that falls with success", async () => {
    const hard = ["--tool-faults", "web_search:timeout=0.7", "--mine-failures", "--rate-from-success", "--groups", "1"];
    const { code, stderr } = await train("rl", "mined", ...hard);
    assert.equal(code, 0, stderr);
    const rollouts = await readAllJsonl<Rollout>(join(at("mined"), "rollouts.jsonl"));
    assert.ok(rollouts.length >= 2);
    await assert.rejects(train("rl", "x", "--mine-failures", "--max-staleness", "1"), /leave --max-staleness out/);
  });

  it("continues a rollout from its first fault, and compares what follows", async () => {
    const faults = ["--tool-faults", "web_search:empty=0.9", "--branch-at-fault"];
    const { stderr } = await train("rl", "trees", ...faults);
    const rollouts = await readAllJsonl<Rollout>(join(at("trees"), "rollouts.jsonl"));
    const trunk = rollouts.find(({ sample, trajectory }) => sample === 0 && trajectory.meta?.["faults"]);
    const branch = rollouts.find(
      ({ round, slot, sample }) => sample === 1 && round === trunk?.round && slot === trunk.slot,
    );
    const at0 = Number(branch?.trajectory.meta?.["branch"]);
    assert.ok(at0 > 0, stderr);
    const tokens = ({ trajectory }: Rollout) => trajectory.segments.slice(0, at0).map((segment) => segment.tokens);
    assert.deepEqual(tokens(branch!), tokens(trunk!));
    assert.match(trunk!.trajectory.segments[at0 - 1]!.text, /no results/);
    const line = await metrics("trees");
    assert.ok((line["ratioGap"] ?? 0) < 1e-3, JSON.stringify(line));
    await assert.rejects(train("rl", "x", ...faults, "--max-staleness", "1"), /leave maxStaleness out/);
  });

  it("leaves rollouts from which distillation keeps the right ones: rejection sampling", async () => {
    const rollouts = await readAllJsonl<Rollout>(join(at("rl"), "rollouts.jsonl"));
    const right = rollouts.filter(({ correct }) => correct).length;
    const filters = ["--min-interactions", "1", "--skip", "reflection,near-duplicate,diversity"];
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

  it("trains on groups in flight, and writes their rollouts as JSONL", async () => {
    const inFlight = ["--max-staleness", "1", "--in-flight", "2", "--steps", "2", "--groups", "1"];
    const { code, stderr } = await train("rl", "pool", "--tool-faults", "web_search:empty=0.6", ...inFlight);
    assert.equal(code, 0, stderr);
    const line = await metrics("pool");
    assert.ok((line["requeued"] ?? -1) >= 0 && (line["staleness"] ?? 0) <= 1, JSON.stringify(line));
    const exported = await coa("train", "rollouts", at("pool"), "--json");
    assert.equal(exported.code, 0, exported.stderr);
    const rollouts = await readAllJsonl<Rollout>(join(at("pool"), "rollouts.jsonl"));
    assert.equal(JSON.parse(exported.stdout).rollouts, rollouts.length);
    for (const { trajectory } of rollouts)
      for (const { by, policyVersion } of trajectory.segments)
        if (by === "model") assert.ok(policyVersion! >= trajectory.policyVersion!);
    await assert.rejects(train("rl", "x", "--max-staleness", "1", "--in-flight", "1"), /a step trains on 2 groups/);
    await assert.rejects(coa("train", "rollouts", at("rl")), /are JSONL already/);
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
    await assert.rejects(train("rl", "x", "--workers-port", "0", "--workers-host", "0.0.0.0"), /--workers-key/);
  });

  it("imitates demonstrations beside its rollouts, and refuses those of another vocabulary", async () => {
    const built = (out: string, ...tokenizer: string[]) =>
      coa("dataset", "build", join(at("kept"), "trajectories.jsonl"), "--out", at(out), ...tokenizer);
    assert.equal((await built("guard", "--tokenizer", shipped)).code, 0);
    const { code, stderr } = await train(
      "rl",
      "guarded",
      "--tool-faults",
      "web_search:empty=0.6",
      "--guard",
      at("guard"),
      "--groups",
      "1",
    );
    assert.equal(code, 0, stderr);
    const manifest = await readFile(join(at("guarded"), "manifest.json"), "utf8");
    assert.match(manifest, /"guard": *\{\s*"data"/);
    assert.equal((await built("strange", "--vocabulary", "300")).code, 0);
    await assert.rejects(train("rl", "x", "--guard", at("strange")), /made with a vocabulary of/);
  });

  it("refuses to credit after faults where there are none, and a context that is not one", async () => {
    await assert.rejects(train("rl", "x", "--credit-after-fault"), /--tool-faults/);
    await assert.rejects(train("rl", "x", "--branch-at-fault"), /--tool-faults/);
    await assert.rejects(train("rl", "x", "--context", "many"), /16384,32768@40/);
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

  it("teaches the check by the grades, of right answers too", async () => {
    const { code, stderr } = await train("opd", "grade", "--teacher-grade", "--groups", "1");
    assert.equal(code, 0, stderr);
    const line = await metrics("grade");
    assert.ok(
      Number(line["corrected"]) > 0 && Number(line["asked"]) === Number(line["rollouts"]),
      JSON.stringify(line),
    );
  });

  it("lets a team behind a server correct failed chains", async () => {
    const team = await servedLabTeam();
    try {
      const asked = ["--teacher-team", "--base-url", team.url, "--team-model", "manager", ...team.flags];
      const { code, stderr } = await train("opd", "llm", ...asked, "--tool-faults", "crawl_page:timeout=0.6");
      assert.equal(code, 0, stderr);
      const line = await metrics("llm");
      assert.ok(Number(line["asked"]) > 0 && Number(line["corrected"]) > 0, JSON.stringify(line));
    } finally {
      await team.close();
    }
  });

  it("refuses two teachers, none, and one of another vocabulary, before the first step", async () => {
    await assert.rejects(train("opd", "y"), /needs one teacher/);
    await assert.rejects(train("opd", "y", "--teacher", shipped, "--teacher-team"), /needs one teacher/);
    await assert.rejects(train("opd", "y", "--teacher-grade", "--teacher-team"), /needs one teacher/);
    const tokenizer = trainTokenizer(["the cat sat on the mat"], { vocabularySize: 300, specialTokens: ["<think>"] });
    await tokenizer.save(at("tokenizer"));
    const size = ["--hidden", "32", "--layers", "1", "--heads", "1", "--tokenizer", at("tokenizer")];
    assert.equal((await coa("model", "new", at("stranger"), ...size)).code, 0);
    await assert.rejects(train("opd", "y", "--teacher", at("stranger")), /another vocabulary/);
  });
});
