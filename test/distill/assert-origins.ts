/** Nothing a team did may vanish: each segment names its step, each step is shown or left out with a reason. */
import assert from "node:assert/strict";
import type { TeamRun } from "../../src/core/team-run.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";

/** Checks the origins of a distilled chain against the run it was made from. */
export function assertOrigins(trajectory: Trajectory, run: TeamRun): void {
  const agents = new Map(run.steps.map((step) => [step.id, step.agentId]));
  for (const segment of trajectory.segments) {
    assert.equal(agents.get(segment.from!.step), segment.from!.agent, `${segment.tag} of ${segment.from?.step}`);
  }
  const shown = trajectory.segments.map((segment) => segment.from!.step);
  const leftOut = trajectory.leftOut!.map(({ step }) => step);
  assert.deepEqual([...new Set([...shown, ...leftOut])].sort(), [...agents.keys()].sort());
  assert.equal(shown.filter((step) => leftOut.includes(step)).length, 0);
  for (const { agent, step, reason } of trajectory.leftOut!) {
    assert.equal(agents.get(step), agent);
    assert.ok(reason.length > 8, step);
  }
}
