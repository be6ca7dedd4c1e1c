import assert from "node:assert/strict";
import type { TeamRun } from "../../src/core/team-run.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { builtInProfiles } from "../../src/language/profiles.ts";

/** The tags of a chain with the roles that wrote them, and the marks of the replies that each holds. */
export function outline(run: TeamRun, profile: string): string[] {
  const { trajectory, failure } = distillRun(run, { profile: builtInProfiles[profile]! });
  assert.equal(failure, undefined);
  const marks = (text: string) => text.match(/\[n\d+\]/g) ?? [];
  const said = new Set(run.steps.flatMap(({ text }) => marks(text)));
  const held = new Set(trajectory!.segments.flatMap(({ text }) => marks(text)));
  const left = new Set(trajectory!.leftOut?.map(({ step }) => step));
  const steps = new Map(run.steps.flatMap((step) => marks(step.text).map((mark) => [mark, step.id])));
  for (const mark of said) assert.ok(held.has(mark) || left.has(steps.get(mark)!), `${mark} is lost`);
  assert.equal(left.size, 0, "each reply says something of its own");
  const names = new Map(run.agents.map(({ id, name }) => [id, name]));
  return trajectory!.segments
    .filter(({ filled }) => !filled)
    .map(({ tag, from }) => `${tag} ${names.get(from!.agent)}`);
}
