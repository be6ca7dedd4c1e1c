/** The model that ships answers new questions about worlds it never saw, with live tools, and `coa ask` finds it by itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shippedModels } from "../src/cli/find-model.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { disturbances, memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { openLabModel, runLabChain } from "../src/lab/quickstart/open-model.ts";
import { realLabTools } from "../src/lab/real-lab-tools.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { chooseSandbox } from "../src/tools/sandbox/choose-sandbox.ts";
import { withFaults } from "../src/tools/with-faults.ts";
import { coa } from "./fixtures/run-coa.ts";
import { testSize } from "./fixtures/test-size.ts";

const world = createWorld({ seed: 42, pages: 600, split: "test" });

describe("the shipped model", () => {
  it("asks again where a search finds nothing: at least 80 % of held-out questions while four in ten fail", async (context) => {
    const { model, engine } = await openLabModel(shippedModels()[0]!.folder);
    try {
      const tools = withFaults(memoryLabTools(world), disturbances.empty(42));
      const tasks = worldTasks(world, { count: testSize(30, 45), families: ["hop1", "hop2", "mixed"], seed: 1 });
      const runs = await Promise.all(
        tasks.map((task, seed) => runLabChain(task, { model, tools, temperature: 0, seed })),
      );
      const right = runs.filter((run, at) => run.answer?.trim() === tasks[at]!.answers[0]).length / tasks.length;
      context.diagnostic(`${(100 * right).toFixed(0)} % right`);
      assert.ok(right >= 0.8, `${right}`);
    } finally {
      await engine.close();
    }
  });

  it("answers at least 90 % of held-out questions, and no format error aborts a run", async (context) => {
    const { model, engine } = await openLabModel(shippedModels()[0]!.folder);
    const sandbox = chooseSandbox({ isolation: "run" });
    const lab = await realLabTools(world, sandbox);
    try {
      const tasks = worldTasks(world, { count: testSize(30, 60), seed: 1 });
      const runs = await Promise.all(
        tasks.map((task, seed) => runLabChain(task, { model, tools: lab.tools, temperature: 0, seed })),
      );
      const right = runs.filter((run, at) => run.answer?.trim() === tasks[at]!.answers[0]).length / tasks.length;
      context.diagnostic(`${(100 * right).toFixed(0)} % right`);
      assert.ok(right >= 0.9, `${right}`);
      assert.deepEqual(
        runs.filter((run) => run.ending.reason === "error"),
        [],
      );
    } finally {
      await lab.close();
      await sandbox.close();
      await engine.close();
    }
  });

  it("is what coa ask uses when no other model is named", async () => {
    const { code, stdout, stderr } = await coa("ask", "--lab", "7");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Using the shipped model afm-lab-/);
    assert.match(stdout, /^plan +/m);
    assert.match(stdout, /^answer +/m);
  });
});
