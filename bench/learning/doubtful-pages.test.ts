import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { trajectoryText } from "../../src/core/trajectory.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { scriptedSpecialists } from "../../src/lab/scripted-specialists.ts";
import { worldDocuments } from "../../src/lab/world-pages.ts";
import { worldTasks } from "../../src/lab/world-tasks.ts";
import { runTeam } from "../../src/team/run-team.ts";
import { checkCalibration } from "./check-calibration.ts";
import { withDoubtfulPages } from "./doubtful-pages.ts";

describe("doubtful pages", () => {
  it("stand beside the right one or alone, say what they are, and change nothing else of a world", () => {
    const plain = createWorld({ seed: 4, pages: 200 });
    const world = withDoubtfulPages(plain, 0.5);
    assert.deepEqual(
      world.entities.map(({ page, name, facts }) => [page, name, facts.map(({ value }) => value)]),
      plain.entities.map(({ page, name, facts }) => [page, name, facts.map(({ value }) => value)]),
    );
    const documents = new Map(worldDocuments(world).map((document) => [document.id, document]));
    assert.ok(world.doubtful.length > 50 && world.doubtful.some(({ alone }) => alone));
    for (const { entity, about, alone } of world.doubtful) {
      assert.equal(documents.has(String(about.page)), !alone);
      assert.equal(world.byPage.has(about.page), !alone);
      assert.ok(documents.get(String(entity.page))!.text.endsWith(entity.doubt!));
      assert.equal(entity.name, about.name);
      assert.ok(!world.homonyms.has(entity.name));
    }
  });

  it("scores what stands on untrustworthy pages low and makes a new plan, and stays unsure where no other page is left", async () => {
    const doubtful = withDoubtfulPages(createWorld({ seed: 2, pages: 600, split: "test" }), 0.6);
    const asked = worldTasks(doubtful, { count: 80, families: ["hop1", "hop2", "mixed"] });
    const tools = memoryLabTools(doubtful);
    const runs = await Promise.all(asked.map((task) => runTeam(task, { roles: scriptedSpecialists(), tools })));
    const records = runs.map((run, index) => ({
      check: run.scores!.at(-1) ?? undefined,
      grade: { correct: run.answer === asked[index]!.answers[0], score: 0, reason: "" },
    }));
    const { auc, groups } = checkCalibration(records)!;
    assert.ok(auc !== null && auc > 0.9, String(auc));
    const surely = groups.find(({ score }) => score === 4)!;
    assert.equal(surely.right, surely.runs);
    const unsure = groups.find(({ score }) => score === 3)!;
    assert.ok(unsure.runs >= 3 && unsure.right < unsure.runs);
    const corrected = runs.filter((run) => run.scores!.length > 1 && run.scores!.at(-1) === 4);
    assert.ok(corrected.length > 8, String(corrected.length));
    for (const run of corrected) {
      const { trajectory } = distillRun(run, { profile: labProfile, systemPrompt: false });
      assert.match(trajectoryText(trajectory!.segments), /score 2<\/double_check><think>[^<]+<\/think><plan>/);
    }
  });
});
