import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task } from "../core/task.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import { distillRun } from "../distill/distill-run.ts";
import { runTeam } from "../team/run-team.ts";
import { withFaults } from "../tools/with-faults.ts";
import { createWorld } from "./create-world.ts";
import { labCorrector } from "./lab-corrector.ts";
import { memoryLabTools } from "./memory-lab-tools.ts";
import { labProfile } from "./profile.ts";
import { scriptedSpecialists } from "./scripted-specialists.ts";
import { worldTasks } from "./world-tasks.ts";

const world = createWorld({ seed: 3, pages: 600 });
const tools = memoryLabTools(world);
const [task] = worldTasks(world, { count: 1, families: ["hop2"] }) as [Task];
const corrector = labCorrector(() => tools);

/** The team's own chain, with every observation marked as the runtime marks them. */
async function ownChain(): Promise<Trajectory> {
  const run = await runTeam(task, { roles: scriptedSpecialists(), tools });
  const chain = distillRun(run, { profile: labProfile, systemPrompt: false }).trajectory!;
  const segments = chain.segments.map((segment, at): Segment => {
    const before = chain.segments[at - 1]!;
    if (segment.by === "model") return segment;
    const input = before.tag === "web_search" ? { query: before.text.trim() } : { urls: [before.text.trim()] };
    return { ...segment, call: { tool: before.tag, input, ok: true, ms: 1 } };
  });
  return { ...chain, segments };
}

describe("the scripted team as a corrector", () => {
  it("finds nothing to correct in a chain of its own", async () => {
    assert.deepEqual(await corrector.correct(task, await ownChain()), {
      correction: null,
      reason: "every step is one of the team's",
    });
  });

  it("replaces the step in which a name was copied wrongly, and leaves what is before it", async () => {
    const chain = await ownChain();
    const searches = chain.segments.flatMap(({ tag }, at) => (tag === "web_search" ? [at] : []));
    const wrongAt = searches.at(-1)!;
    const slipped = (text: string) => text.replace(/(\w)(\w)$/, "$2$1");
    const segments = chain.segments
      .slice(0, wrongAt + 1)
      .map((one, at) => (at >= wrongAt - 1 ? { ...one, text: slipped(one.text), raw: undefined } : one));
    const nothing: Segment = {
      tag: "observation",
      text: "no results",
      by: "tool",
      call: { tool: "web_search", input: { query: segments.at(-1)!.text.trim() }, ok: true, ms: 1 },
    };
    const result = await corrector.correct(task, { ...chain, segments: [...segments, nothing], answer: null });
    assert.equal(result.correction?.from, wrongAt - 1);
    assert.deepEqual(
      result.correction?.segments.map(({ tag, text }) => [tag, text]),
      chain.segments.slice(wrongAt - 1, wrongAt + 1).map(({ tag, text }) => [tag, text]),
    );
  });

  it("asks for the next step of a chain that broke off", async () => {
    const chain = await ownChain();
    const end = chain.segments.findIndex(({ tag }) => tag === "observation") + 1;
    const { correction } = await corrector.correct(task, {
      ...chain,
      segments: chain.segments.slice(0, end),
      answer: null,
    });
    assert.equal(correction?.from, end);
    assert.equal(correction?.segments.at(-1)?.tag, "crawl_page");
  });

  it("shows the team what the student was shown: after an empty search the step is to search again", async () => {
    const chain = await ownChain();
    const observed = chain.segments.findIndex(({ tag }) => tag === "observation");
    const empty = { ...chain.segments[observed]!, text: "no results", raw: undefined };
    const given: Segment = { tag: "suggested_answer", text: " 7", by: "model" };
    const segments = [...chain.segments.slice(0, observed), empty, given];
    const { correction } = await corrector.correct(task, { ...chain, segments, answer: "7" });
    assert.equal(correction?.from, observed + 1);
    assert.equal(correction?.segments.at(-1)?.tag, "web_search");
    assert.equal(correction?.segments.at(-1)?.text, chain.segments[observed - 1]!.text);
  });

  it("says so where the team can't answer either", async () => {
    const broken = labCorrector(() =>
      withFaults(tools, { seed: 1, faults: [{ kind: "empty", rate: 1, tools: ["web_search"] }] }),
    );
    const result = await broken.correct(task, { ...(await ownChain()), segments: [], answer: null });
    assert.equal(result.correction, null);
    assert.match("reason" in result ? result.reason : "", /wrong|no chain/);
  });
});
