/** The whole quickstart with a toy model: every stage runs, with real tools, stops on request and continues where it was. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import type { TeamRun } from "../src/core/team-run.ts";
import { systemsOf } from "../src/lab/quickstart/evaluate-stage.ts";
import { runQuickstart } from "../src/lab/quickstart/run-quickstart.ts";
import { toyQuickstart as toy } from "./fixtures/toy-quickstart.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-quickstart-"));
after(() => rm(folder, { recursive: true, force: true }));

describe("quickstart", () => {
  it("goes from a team to a compared model, and a stopped run is resumed", async () => {
    const stop = new AbortController();
    const options = { folder, settings: toy };
    const stopped = runQuickstart({
      ...options,
      signal: stop.signal,
      onProgress: ({ stage, done }) => {
        if (stage === "sft" && done === 4) stop.abort();
      },
    });
    await assert.rejects(stopped, /stopped|abort/i);
    assert.equal(
      (await readAllJsonl<TeamRun>(join(folder, "team", "runs.jsonl"))).length,
      63,
      "60, and 3 that end wrong",
    );
    await assert.rejects(runQuickstart({ ...options, resume: "never" }), /holds a quickstart already/);
    await assert.rejects(runQuickstart({ ...options, seed: 2 }), /belongs to other work: seed was 1, is 2/);
    const resumed: string[] = [];
    const { stages, table, report, model } = await runQuickstart({
      ...options,
      onStage: (event) => {
        if (event.type === "stage-end" && event.resumed) resumed.push(event.name);
      },
    });
    assert.deepEqual(resumed, ["team", "distill"]);
    assert.equal(stages["team"]?.["right"], 60 / 63);
    assert.equal(stages["distill"]?.["chains kept"], 60, "wrong runs are dropped, and nothing else changes");
    assert.match(String(stages["distill"]?.["line"]), /^60 of 63 runs became chains; dropped: 3 wrong/);
    assert.match(
      String(stages["distill"]?.["example"]),
      /^before: \d+ model calls of the team, \d+ tokens\nafter: one text, <think>/,
    );
    for (const [name, { line }] of Object.entries(stages)) assert.ok(line.length > 20, name);
    for (const name of ["team", "distill", "sft", "rl", "evaluate"]) assert.ok(stages[name]!.example.length > 20, name);
    assert.equal(stages["sft"]?.["steps"], 10);
    assert.equal(stages["evaluate"]?.["team-handoff"], 1);
    for (const name of systemsOf(0)) assert.ok(table.includes(name), name);
    assert.match(table, /^chain-rl-failing against chain-sft-failing where four in ten searches time out: /m);
    assert.ok((await stat(join(model, "model.safetensors"))).size > 100_000);
    assert.match(await readFile(report, "utf8"), /<svg/);
  });
});
