/** The whole story with a toy model: every stage runs, with real tools, stops on request and continues where it was. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import { createOutput } from "../src/cli/output.ts";
import type { TeamRun } from "../src/core/team-run.ts";
import { distillStage } from "../src/lab/quickstart/distill-stage.ts";
import { evaluateStage, systemNames } from "../src/lab/quickstart/evaluate-stage.ts";
import { readTable, reportStage } from "../src/lab/quickstart/report-stage.ts";
import { rlStage } from "../src/lab/quickstart/rl-stage.ts";
import { type QuickstartSettings, quickstartSizes } from "../src/lab/quickstart/settings.ts";
import { sftStage } from "../src/lab/quickstart/sft-stage.ts";
import { runStages } from "../src/lab/quickstart/stage.ts";
import { teamStage } from "../src/lab/quickstart/team-stage.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-story-"));
after(() => rm(folder, { recursive: true, force: true }));

const toy: QuickstartSettings = {
  ...quickstartSizes.fast,
  teamTasks: 60,
  tasksPerWorld: 30,
  pages: 60,
  model: { hiddenSize: 64, layers: 2, heads: 2, kvHeads: 2, intermediateSize: 96 },
  sft: { drillSteps: 2, easySteps: 2, steps: 6, lessonWorlds: 1, batchTokens: 1024, matrixRate: 5e-3, rate: 1.5e-3 },
  rl: { steps: 1, groups: 2, samples: 2, rate: 1e-4 },
  testTasks: 10,
};

describe("quickstart", () => {
  it("goes from a team to a compared model, and a stopped story continues", async () => {
    let stop = new AbortController();
    const out = createOutput({ stdout: { write: () => 0 }, stderr: { write: () => 0 } });
    const progress: typeof out.progress = (event) => {
      if (event.stage === "sft" && event.done === 4 && !stop.signal.aborted) stop.abort();
    };
    const context = () => ({
      folder,
      seed: 1,
      imperfect: 0,
      settings: toy,
      out: { ...out, progress },
      signal: stop.signal,
    });
    const stages = [teamStage, distillStage, sftStage, rlStage, evaluateStage, reportStage];
    await assert.rejects(runStages(stages, context()), /--resume|stopped/);
    assert.equal((await readAllJsonl<TeamRun>(join(folder, "team", "runs.jsonl"))).length, 60);
    stop = new AbortController();
    stop.signal.throwIfAborted();
    const results = await runStages(stages, { ...context(), out });
    assert.equal(results["team"]?.["right"], 1);
    assert.equal(results["sft"]?.["steps"], 10);
    assert.equal(results["evaluate"]?.["team-handoff"], 1);
    const table = await readTable(folder);
    for (const name of systemNames) assert.ok(table.includes(name), name);
    assert.match(table, /RL against SFT, at temperature 1: /);
    assert.ok((await stat(join(folder, "rl", "model", "model.safetensors"))).size > 100_000);
    assert.match(await readFile(join(folder, "report", "report.html"), "utf8"), /<svg/);
  });
});
