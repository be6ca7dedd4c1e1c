import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { madeModel, madeTasks, madeTeam } from "../../../test/fixtures/made-switch.ts";
import { coa } from "../../../test/fixtures/run-coa.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { runEvaluation } from "../../evaluate/run-evaluation.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import type { StudioContext } from "../../studio/api/reader.ts";
import { type RoundView, readRounds } from "../../studio/api/rounds-reader.ts";

const folder = await realpath(await mkdtemp(join(tmpdir(), "coa-switching-")));
process.chdir(folder);
after(() => {
  process.chdir(import.meta.dirname);
  return rm(folder, { recursive: true, force: true });
});
const shipped = fileURLToPath(new URL("../../../weights/afm-lab-2m", import.meta.url));
await cp(shipped, "mine", { recursive: true });
const lines = (items: readonly unknown[]) => items.map((item) => `${JSON.stringify(item)}\n`).join("");

describe("switching over, from the command line", () => {
  it("fits a cascade beside the model, and refuses with the number of tasks that are missing", async () => {
    const grader = taskGrader();
    for (const [name, tasks] of [["many", madeTasks(1500)], ["few", madeTasks(60)]] as const) {
      await runEvaluation(tasks, madeModel({ wrong: 0.15, apart: 3 }), { folder: `${name}-model`, grader });
      await runEvaluation(tasks, madeTeam(1), { folder: `${name}-team`, grader });
    } // biome-ignore format: one row
    const promise = ["--max-loss", "2%", "--confidence", "95%", "--model", "mine"];
    const few = await coa("cascade", "fit", "few-model", "few-team", ...promise);
    assert.equal(few.code, 1);
    assert.match(few.stdout, /no cascade: .*needs about \d+ more graded tasks/);
    assert.equal(existsSync("mine/cascade.json"), false);
    const many = await coa("cascade", "fit", "many-model", "many-team", ...promise);
    assert.equal(many.code, 0, many.stderr);
    assert.match(many.stdout, /with 95 % confidence at most 2\.0 points below the team/);
    assert.ok(existsSync("mine/cascade.json") && existsSync("mine/cascade.html"));
    // The few are among the many: the second fit has half of the level.
    for (const { stdout } of [many, await coa("cascade", "fit", "many-model", "many-team", ...promise)])
      assert.match(stdout, /used the rest of the confidence: tested at 97\.50 %/, "the same again is not a new try");
    await runEvaluation(madeTasks(1500), madeTeam(0.97), { folder: "other-team", grader });
    const other = await coa("cascade", "fit", "many-model", "other-team", ...promise);
    assert.match(
      other.stdout,
      /used the rest of the confidence: tested at 98\.75 %/,
      "the same tasks beside another team are one",
    );
  });

  it("promotes a model, gives another a share, and goes back", async () => {
    await coa("promote", "afm-lab-2m");
    const canary = await coa("promote", "mine", "--canary", "10%", "--json");
    assert.deepEqual(JSON.parse(canary.stdout).canary, { folder: join(folder, "mine"), weight: 0.1 });
    await coa("promote", "mine");
    const back = await coa("rollback", "--json");
    assert.deepEqual(JSON.parse(back.stdout), { live: shipped });
    await assert.rejects(coa("promote", "nowhere"), /found no model "nowhere"/);
  });

  it("goes through rounds of improvement, promotes what is not worse and cheaper, and resumes", async () => {
    await coa(
      "lab",
      "tasks",
      "--seed",
      "7",
      "--split",
      "test",
      "--count",
      "50",
      "--family",
      "hop1",
      "--out",
      "tasks.jsonl",
    );
    await coa("team", "run", "tasks.jsonl", "--scripted", "--fast", "--out", "old.jsonl");
    const tasks = (await readFile("tasks.jsonl", "utf8")).trimEnd().split("\n");
    await writeFile("exam.jsonl", `${tasks.slice(0, 5).join("\n")}\n`);
    const runs = await readAllJsonl<{ question: string; answer: string }>("old.jsonl");
    const asked = (chain: Trajectory) => chain.prompt.findLast(({ role }) => role === "user")!.content;
    const old = (chain: Trajectory) => runs.find(({ question }) => question === asked(chain))!.answer;
    /** What the live model made of these tasks, while this share of its searches timed out. */
    const production = async (name: string, from: number, to: number, failing: number) => {
      await writeFile(`${name}.jsonl`, `${tasks.slice(from, to).join("\n")}\n`);
      await coa("eval", "run", `${name}.jsonl`, "--model", shipped, "--lab", "7", "--set", "chain.entropies=true", "--tool-faults", `web_search:timeout=${failing}`, "--name", name); // biome-ignore format: one command
      return (await readAllJsonl<{ value: Trajectory }>(`.coa/evals/${name}/runs.jsonl`)).map(({ value }) => value);
    };
    const audit = (chain: Trajectory) => ({ id: chain.id, cascade: "x", at: "", kind: "k", differs: chain.answer !== old(chain), question: asked(chain), old: old(chain) }); // biome-ignore format: one line
    const improve = (...more: string[]) => coa("improve", "kept.jsonl", "old.jsonl", "--tasks", "exam.jsonl", "--lab", "7", "--steps", "1", ...more); // biome-ignore format: one command
    const statusOf = async (name: string) => JSON.parse((await coa("promote", "--json")).stdout).find(({ folder: of }: { folder: string }) => of.includes(name))?.status; // biome-ignore format: one line

    const chains = await production("asked", 5, 15, 0);
    await writeFile("kept.jsonl", lines(chains));
    assert.match((await improve()).stdout, /nothing to learn from/);
    const escalated = chains.map((chain, at) => ({ ...chain, ...(at < 5 && { served: { fallback: { model: "old", reason: "unsure", answer: old(chain) } } }) })); // biome-ignore format: one line
    await writeFile("kept.jsonl", lines(escalated));
    await writeFile(".coa/switch/audit.jsonl", lines(chains.slice(5).map(audit)));
    const first = await improve();
    assert.match(first.stdout, /round 1: not promoted: .*its cascade can't keep the promise/, first.stderr);
    assert.match(first.stdout, /exam of 5 tasks/);
    assert.match((await improve()).stdout, /nothing to learn from/, "what a round used is not used again");
    assert.equal(await statusOf("afm-lab-2m"), "live");

    // Searches failed in production; they work again, and the candidate is measured as it will serve.
    const failed = await production("failed", 15, 50, 1);
    await writeFile("kept.jsonl", lines(failed));
    await writeFile(".coa/switch/audit.jsonl", lines(failed.map(audit)));
    const loose = ["--max-loss", "50%", "--confidence", "60%", "--set", "improve.margin=0.9"];
    const second = await improve(...loose);
    assert.match(second.stdout, /round 2: promoted/, `${second.stdout}\n${second.stderr}`);
    assert.match(second.stdout, /\(agreement: no right answers were known\)/);
    assert.match(
      second.stdout,
      /learned from \d+ runs of the old system, beside \d+ chains that it agreed with; .* tokens of audits/,
    );
    assert.deepEqual([await statusOf("rounds/2"), await statusOf("afm-lab-2m")], ["live", "retired"]);
    const decision = JSON.parse(await readFile(".coa/switch/rounds/2/decision.json", "utf8"));
    assert.ok(decision.escalated.candidate < decision.escalated.live && decision.facts.learned > 0, JSON.stringify(decision)); // biome-ignore format: one line
    const shown = await readRounds(new URLSearchParams(), { home: join(folder, ".coa") } as StudioContext);
    assert.deepEqual((shown as RoundView[]).map(({ facts, promote, figures }) => [facts.number, promote, (figures?.curve.length ?? 0) > 0]), [[2, true, true], [1, false, false]]); // biome-ignore format: one line
    const cascade = JSON.parse(await readFile(".coa/switch/rounds/2/sft/model/cascade.json", "utf8"));
    assert.deepEqual([cascade.basis, cascade.calibration.level], ["agreement", 1 / 6]);

    // Killed after the promotion and before the decision was written: the same round, against the same live model.
    const acts = await readFile(".coa/switch/versions.jsonl", "utf8");
    await rm(".coa/switch/rounds/2/decision.json");
    const again = await improve(...loose);
    assert.match(again.stdout, /round 2: promoted/);
    assert.match(again.stderr, /train, done before/);
    assert.deepEqual(JSON.parse(await readFile(".coa/switch/rounds/2/decision.json", "utf8")), decision);
    assert.equal(await readFile(".coa/switch/versions.jsonl", "utf8"), acts);

    // Another model was promoted while the round was under way: what the candidate was compared with no longer serves.
    await coa("promote", "mine");
    await rm(".coa/switch/rounds/2/decision.json");
    assert.match(
      (await improve(...loose)).stdout,
      /round 2: not promoted: another model is live since the round began/,
    );
    assert.equal(await statusOf("mine"), "live");
  });
});
