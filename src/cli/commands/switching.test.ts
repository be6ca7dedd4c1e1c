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

  it("goes through a round of improvement to its decision, once for each request", async () => {
    await coa("lab", "tasks", "--seed", "7", "--split", "test", "--count", "15", "--out", "tasks.jsonl");
    await coa("team", "run", "tasks.jsonl", "--scripted", "--fast", "--out", "old.jsonl");
    const tasks = (await readFile("tasks.jsonl", "utf8")).trimEnd().split("\n");
    await writeFile("asked.jsonl", `${tasks.slice(5).join("\n")}\n`);
    await writeFile("exam.jsonl", `${tasks.slice(0, 5).join("\n")}\n`);
    await coa("eval", "run", "asked.jsonl", "--model", shipped, "--lab", "7", "--name", "asked");
    const chains = (await readAllJsonl<{ value: Trajectory }>(".coa/evals/asked/runs.jsonl")).map(({ value }) => value);
    const runs = await readAllJsonl<{ question: string; answer: string }>("old.jsonl");
    const asked = (chain: Trajectory) => chain.prompt.findLast(({ role }) => role === "user")!.content;
    const old = (chain: Trajectory) => runs.find(({ question }) => question === asked(chain))!.answer;
    const audited = chains.slice(5).map((chain) => ({ id: chain.id, cascade: "x", at: "", kind: "k", differs: false, question: asked(chain), old: old(chain) })); // biome-ignore format: one line
    const escalated = chains.map((chain, at) => ({ ...chain, ...(at < 5 && { served: { fallback: { model: "old", reason: "unsure", answer: old(chain) } } }) })); // biome-ignore format: one line
    const improve = () => coa("improve", "kept.jsonl", "old.jsonl", "--tasks", "exam.jsonl", "--lab", "7", "--steps", "1"); // biome-ignore format: one command

    await writeFile("kept.jsonl", lines(chains));
    assert.match((await improve()).stdout, /nothing to learn from/);
    await writeFile("kept.jsonl", lines(escalated));
    await writeFile(".coa/switch/audit.jsonl", lines(audited));
    const round = await improve();
    assert.match(round.stdout, /round 1: not promoted: .*its cascade can't keep the promise/, round.stderr);
    assert.match(round.stdout, /exam of 5 tasks/);
    assert.equal(JSON.parse(await readFile(".coa/switch/rounds/1/decision.json", "utf8")).promote, false);
    assert.match(await readFile(".coa/switch/rounds/1/round.html", "utf8"), /Round 1/);
    assert.match((await improve()).stdout, /nothing to learn from/, "what a round used is not used again");
    assert.deepEqual(JSON.parse((await coa("promote", "--json")).stdout).find(({ folder: of }: { folder: string }) => of === shipped)?.status, "live"); // biome-ignore format: one line
  });
});
