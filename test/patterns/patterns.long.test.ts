import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { distillRun } from "../../src/distill/distill-run.ts";
import { builtInProfiles } from "../../src/language/profiles.ts";
import { recordProgram } from "../python-frameworks/run-cell.ts";
import { outline } from "./outline.ts";

const program = [process.execPath, join(import.meta.dirname, "plain.mjs")];
const modes = ["chain", "route", "parallel", "orchestrator", "evaluator", "branches", "loops", "debate", "retry"];

describe("agents that a Node program wires in code", () => {
  for (const mode of modes) {
    it(`${mode}: four tasks at once are four runs, and each chain holds all that was said`, async () => {
      const { verdict, why, runs } = await recordProgram(program, { mode, load: "four", way: "record run" });
      assert.equal(verdict, "right", why.join("; "));
      for (const run of runs) for (const profile of ["multi", "mhqa", "wide"]) outline(run, profile);
    });
  }

  it("keeps users of a server apart, and tasks after each other", async () => {
    for (const [mode, load] of [
      ["server-loops", "four"],
      ["retry", "three"],
    ] as const) {
      const { verdict, why } = await recordProgram(program, { mode, load, way: "record run" });
      assert.equal(verdict, "right", why.join("; "));
    }
  });

  it("refuses through the proxy what only the program's flow tells apart", async () => {
    for (const mode of ["retry", "route"]) {
      const { verdict } = await recordProgram(program, { mode, load: "four", way: "proxy" });
      assert.equal(verdict, "refused", mode);
    }
  });

  it("tells branches one after the other, each whole, though they ran at once", async () => {
    const { runs } = await recordProgram(program, { mode: "branches", load: "one", way: "record run" });
    const { trajectory } = distillRun(runs[0]!, { profile: builtInProfiles["multi"]! });
    const thoughts = trajectory!.segments
      .filter(({ tag, filled }) => tag === "think" && !filled)
      .map(({ from }) => from!.agent);
    const names = thoughts.map((id) => runs[0]!.agents.find((agent) => agent.id === id)!.name);
    assert.deepEqual(names.toSorted(), ["analyst", "analyst", "facts_reviewer", "method_reviewer"]);
    for (const at of [0, 2]) {
      assert.match(names[at]!, /reviewer$/);
      assert.equal(runs[0]!.agents.find((agent) => agent.id === thoughts[at + 1])!.handoffFrom, thoughts[at]);
    }
  });
});
