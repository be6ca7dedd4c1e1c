import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { trajectorySchema } from "../../src/core/trajectory-schema.ts";
import { type DistillOptions, distill } from "../../src/distill/distill.ts";
import type { DistillConfig } from "../../src/distill/distill-config.ts";
import { readOutcomes, readReport } from "../../src/distill/read-distillation.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { validateSegments } from "../../src/language/validate.ts";
import { reportText } from "../../src/report/distill-text.ts";
import { labRuns } from "./lab-runs.ts";

const config: DistillConfig = {
  profile: labProfile,
  systemPrompt: false,
  minInteractions: 4,
  reflection: { keepWithout: 1 },
};
const modules = [join(import.meta.dirname, "lab-plugins.ts")];

describe("distill", () => {
  let root = "";
  let options: Omit<DistillOptions, "out">;
  let inputs: string[] = [];
  let runs: TeamRun[] = [];
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "coa-distill-"));
    const clean = await labRuns({ count: 180, seed: 21 });
    const shaky = await labRuns({ count: 120, seed: 22, imperfect: 0.5, topology: "handoff" });
    runs = [...clean.runs, ...shaky.runs];
    const lines = (list: unknown[]) => list.map((record) => `${JSON.stringify(record)}\n`).join("");
    await writeFile(join(root, "runs.jsonl"), lines(runs));
    await writeFile(join(root, "tasks.jsonl"), lines([...clean.tasks, ...shaky.tasks]));
    inputs = [join(root, "runs.jsonl")];
    options = { config, tasksFiles: [join(root, "tasks.jsonl")], modules };
  });
  after(() => rm(root, { recursive: true, force: true }));
  const chainsOf = (out: string) => readAllJsonl(join(out, "trajectories.jsonl"), trajectorySchema);
  const bytesOf = (out: string) => readFile(join(out, "trajectories.jsonl"), "utf8");

  it("writes only right, valid chains, and a report that adds up", async () => {
    const out = join(root, "plain");
    const report = await distill(inputs, { ...options, out });
    const chains = await chainsOf(out);
    assert.equal(chains.length, report.written);
    for (const chain of chains) assert.deepEqual(validateSegments(labProfile, chain.segments), []);
    assert.equal(report.records, runs.length);
    assert.equal(report.stages.reduce((sum, stage) => sum + stage.dropped, 0) + report.kept, report.records);
    for (const stage of report.stages) {
      assert.equal(
        Object.values(stage.reasons).reduce((sum, count) => sum + count, 0),
        stage.dropped,
      );
    }
    assert.ok(
      report.stages.find((stage) => stage.name === "correctness")!.dropped > 20,
      "half of 120 runs misread their question",
    );
    assert.deepEqual(report.tokens.map((sum) => sum.topology).sort(), ["agents-as-tools", "handoff"]);
    const byHand = runs.filter(
      (run) => run.topology === "handoff" && chains.some((chain) => chain.source?.id === run.id),
    );
    const handoff = report.tokens.find((sum) => sum.topology === "handoff")!;
    assert.equal(
      handoff.team.billed,
      byHand.reduce((sum, run) => sum + run.usage.billedTokens, 0),
    );
    assert.deepEqual(await readReport(out), JSON.parse(JSON.stringify(report)));
    assert.match(reportText(report), /correctness +█+.*wrong answer \d+/);
  });

  it("keeps what every filter measured and the bound it compared with, of kept and of dropped chains", async () => {
    const out = join(root, "plain");
    const outcomes = await Array.fromAsync(readOutcomes(out, () => true));
    assert.equal(outcomes.length, runs.length);
    for (const { outcome, chain } of outcomes) {
      const decisions = outcome.decisions!;
      assert.deepEqual(
        decisions.filter(({ kept }) => !kept).map(({ stage, reason }) => [stage, reason]),
        outcome.stage === null ? [] : [[outcome.stage, outcome.reason]],
      );
      const complexity = decisions.find(({ stage }) => stage === "complexity");
      if (complexity) assert.deepEqual([complexity.measure, complexity.threshold], ["interactions", 4]);
      if (outcome.stage !== null) continue;
      assert.equal(chain!.source?.id, outcome.id);
      assert.deepEqual(chain!.decisions, decisions);
    }
  });

  it("finds the tasks of recorded runs by their questions, and says of every dropped run why", async () => {
    const foreign = join(root, "foreign.jsonl");
    const nameless = runs.slice(0, 60).map((run, index) => ({ ...run, id: `trace-${index}`, taskId: undefined }));
    const cut = {
      ...nameless[0]!,
      id: "cut",
      completeness: { ...nameless[0]!.completeness, untrainable: [{ reason: "cut", detail: "token limit" }] },
    };
    await writeFile(foreign, [...nameless, cut].map((run) => `${JSON.stringify(run)}\n`).join(""));
    const report = await distill([foreign], { ...options, out: join(root, "foreign") });
    assert.equal(report.right.graded, report.kept);
    assert.ok(report.kept > 50, `${report.kept} kept`);
    assert.equal(report.dropped.length, report.records - report.kept);
    assert.deepEqual(
      report.dropped.filter(({ id }) => id === "cut").map(({ stage, reason, detail }) => [stage, reason, detail]),
      [["completeness", "cut", "token limit"]],
    );
    const [chain] = await chainsOf(join(root, "foreign"));
    assert.equal(chain!.taskId, runs[0]!.taskId);
    const assumed = await distill([foreign], {
      ...options,
      tasksFiles: [],
      out: join(root, "assumed"),
      config: { ...config, ungraded: "keep" },
    });
    assert.deepEqual([assumed.right.graded, assumed.right.assumed], [0, assumed.kept]);
  });

  it("writes chains that correct themselves as often as asked, each under an id of its own", async () => {
    const out = join(root, "copies");
    const report = await distill(inputs, { ...options, out, config: { ...config, correctionCopies: 3 } });
    const chains = await chainsOf(out);
    assert.ok(report.correcting > 0, "the lab's verifier rejects some answers");
    assert.equal(report.copies, report.correcting * 2);
    assert.equal(new Set(chains.map((chain) => chain.id)).size, chains.length);
  });

  it("stops for no broken line and no failing filter, and lists both at the end", async () => {
    const broken = join(root, "broken.jsonl");
    const chain = (await chainsOf(join(root, "plain")))[0]!;
    const prompt = [{ role: "user" as const, content: "What is it?" }];
    const failing: Trajectory = { ...chain, id: "bad-luck", taskId: "free", prompt, answer: "777", reward: 1 };
    const others = runs.slice(0, 5).map((run) => JSON.stringify(run));
    const lines = [
      others[0],
      "{ not json",
      '{"version":1,"id":"odd","segments":[]}',
      JSON.stringify(failing),
      ...others.slice(1),
    ];
    await writeFile(broken, `${lines.join("\n")}\n`);
    const report = await distill([broken], { ...options, out: join(root, "broken") });
    assert.equal(report.kept, 5);
    assert.deepEqual(
      report.problems.map(({ line, stage, message }) => [line, stage, message.split(":")[0]]),
      [
        [2, "input", "not JSON"],
        [3, "input", "not a team run or trajectory"],
        [4, "no-sevens", "filter failed"],
      ],
    );
  });

  it("removes near-duplicates and balances families", async () => {
    const twice = join(root, "twice.jsonl");
    const chains = await chainsOf(join(root, "plain"));
    const single = chains.filter((chain) => !chain.id.includes("#"));
    const copies = single.map((chain) => ({ ...chain, id: `${chain.id}-again` }));
    await writeFile(twice, [...single, ...copies].map((chain) => `${JSON.stringify(chain)}\n`).join(""));
    const once = await distill([twice], { ...options, out: join(root, "once") });
    assert.equal(once.stages.find((stage) => stage.name === "near-duplicate")!.dropped, copies.length);
  });

  it("continues where it was stopped and ends with the same files", async () => {
    const out = join(root, "stopped");
    const controller = new AbortController();
    const stopAfter = (done: number) => {
      if (done >= 128) controller.abort();
    };
    await assert.rejects(
      distill(inputs, {
        ...options,
        out,
        signal: controller.signal,
        onProgress: ({ done }) => stopAfter(done),
      }),
      /abort/i,
    );
    const half = (await readFile(join(out, "outcomes.jsonl"), "utf8")).trim().split("\n").length;
    assert.ok(half >= 128 && half < runs.length);
    // A crash may leave half a line in the journal, and chains whose outcome was not written yet.
    await appendFile(join(out, "outcomes.jsonl"), '{"index":9');
    const ahead = (await readFile(join(root, "plain", "kept.jsonl"), "utf8")).split("\n");
    const keptSoFar = (await readFile(join(out, "kept.jsonl"), "utf8")).trim().split("\n").length;
    const next = ahead[keptSoFar];
    await appendFile(join(out, "kept.jsonl"), `${next}\n`);
    await distill(inputs, { ...options, out });
    assert.equal(await bytesOf(out), await bytesOf(join(root, "plain")));
    assert.deepEqual(await readReport(out), await readReport(join(root, "plain")));
  });

  it("survives being killed at random moments", async () => {
    const out = join(root, "killed");
    const script = join(root, "run.mjs");
    const source = join(import.meta.dirname, "../../src");
    await writeFile(
      script,
      `import { distill } from ${JSON.stringify(join(source, "distill/distill.ts"))};
import { labProfile } from ${JSON.stringify(join(source, "lab/profile.ts"))};
const inputs = ${JSON.stringify(inputs)};
const options = ${JSON.stringify({ ...options, config: { ...config, profile: undefined }, out })};
options.config = { ...options.config, profile: labProfile };
await distill(inputs, { ...options, onProgress: ({ done }) => process.stdout.write(done + "\\n") });
console.log("finished");`,
    );
    let killed = 0;
    for (let attempt = 0; ; attempt++) {
      assert.ok(attempt < 20, "it never finished");
      const finished = await new Promise<boolean>((resolve) => {
        const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
        let said = "";
        let batches = 0;
        child.stdout.on("data", (data: Buffer) => {
          said += data;
          batches = said.split("\n").length - 1;
          if (batches >= 1 + (attempt % 3) && killed < 3 && !said.includes("finished")) child.kill("SIGKILL");
        });
        child.on("exit", (code) => resolve(code === 0));
      });
      if (finished) break;
      killed++;
    }
    assert.ok(killed > 0);
    assert.equal(await bytesOf(out), await bytesOf(join(root, "plain")));
  });

  it("refuses to mix two configurations in one folder, unless told to start anew", async () => {
    const out = join(root, "plain");
    const other = { ...options, out, config: { ...config, minInteractions: 9 } };
    await assert.rejects(distill(inputs, other), /minInteractions was 4, is 9/);
    const report = await distill(inputs, { ...other, resume: "fresh" });
    assert.ok(report.stages.find((stage) => stage.name === "complexity")!.dropped > 0);
  });

  it("says before any work that a plugin can't be loaded", async () => {
    await assert.rejects(
      distill(inputs, { ...options, out: join(root, "none"), modules: [join(root, "nowhere.ts")] }),
      /nowhere/,
    );
  });
});
