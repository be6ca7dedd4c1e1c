import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { taskGrader } from "../graders/grade-task.ts";
import { createWorld } from "../lab/create-world.ts";
import { memoryLabTools } from "../lab/memory-lab-tools.ts";
import { labProfile } from "../lab/profile.ts";
import { scriptedSpecialists } from "../lab/scripted-specialists.ts";
import { worldTasks } from "../lab/world-tasks.ts";
import { scriptedModel } from "../testing/index.ts";
import { chainSystem, compareEvaluations, readEvaluation, runEvaluation, teamSystem } from "./index.ts";

describe("teamSystem", () => {
  it("is compared with a chain on the same tasks, in one call each", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-team-system-"));
    const world = createWorld({ seed: 3, pages: 60 });
    const tasks = worldTasks(world, { count: 3, families: ["hop1"], seed: 1 });
    const tools = memoryLabTools(world);
    const answers = new Map(tasks.map((task) => [task.question, task.answers[0]]));
    const model = scriptedModel(({ prompt }) => `<answer>${answers.get(String(prompt.at(-1)!.content))}`);
    const systems = [
      teamSystem({ roles: scriptedSpecialists(), tools, topology: "handoff" }),
      chainSystem({ model, tools, profile: labProfile, systemPrompt: false, enforcement: "report" }),
    ];
    try {
      for (const [at, system] of systems.entries())
        await runEvaluation(tasks, system, { folder: join(folder, String(at)), grader: taskGrader() });
      const [team, chain] = await Promise.all([0, 1].map((at) => readEvaluation(join(folder, String(at)))));
      assert.equal(team!.summary.system, "team-handoff");
      assert.deepEqual(team!.summary.success.value, 1);
      const { rows } = compareEvaluations([team!, chain!]);
      assert.ok(rows[1]!.saving!.billedTokens!.value > 0.5, "one chain costs less than six agents");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("names a run after its task and sample, gives each task its own tools, and says what it is", async () => {
    const world = createWorld({ seed: 3, pages: 60 });
    const [task] = worldTasks(world, { count: 1, families: ["hop1"], seed: 1 });
    const asked: string[] = [];
    const system = teamSystem({
      roles: scriptedSpecialists(),
      tools: ({ id }) => {
        asked.push(id);
        return memoryLabTools(world);
      },
    });
    const { run } = await system.run(task!, { sample: 2, seed: 1 });
    assert.equal(run?.value.id, `${task!.id}#2`);
    assert.deepEqual(asked, [task!.id]);
    assert.equal(system.identity?.["topology"], "agents-as-tools");
    assert.equal(system.identity?.["tools"], "of each task");
  });
});
