import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TeamRun } from "../../src/core/team-run.ts";
import { trajectoryText } from "../../src/core/trajectory.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { multiProfile } from "../../src/language/profiles.ts";
import { validateSegments } from "../../src/language/validate.ts";
import { assertOrigins } from "./assert-origins.ts";
import { frameworkRun, frameworks } from "./framework-runs.ts";
import { comparable, replayChain } from "./replay-chain.ts";

const options = { profile: multiProfile, fill: true };

describe("distillRun over runs of five frameworks", () => {
  for (const name of frameworks) {
    it(`converts a run of ${name}, and the chain replays exactly`, async () => {
      const run = await frameworkRun(name);
      assert.deepEqual([run.agents.length, run.steps.length], [4, 12]);
      for (const layout of ["compact", "paper"] as const) await convertAndReplay(run, layout);
    });
  }

  async function convertAndReplay(run: TeamRun, layout: "compact" | "paper"): Promise<void> {
    const profile = { ...multiProfile, style: { ...multiProfile.style, layout } };
    const { trajectory, failure } = distillRun(run, { profile, fill: true });
    assert.ok(trajectory, failure?.message ?? "");
    // The team's programs are JavaScript, which the profile's Python tag can't say: they have a tag of their own.
    const used = trajectory.language!.profile;
    assert.deepEqual(validateSegments(used, trajectory.segments), []);
    assertOrigins(trajectory, run);
    const replayed = await replayChain(trajectory, run, used);
    assert.deepEqual(comparable(replayed.segments, false), comparable(trajectory.segments, false));
    assert.equal(replayed.answer, run.answer);
  }

  it("gives the same chain whichever framework the team was written in", async () => {
    const chains = await Promise.all(
      frameworks.map(async (name) => distillRun(await frameworkRun(name), options).trajectory!),
    );
    // Ax puts no words beside its calls on the wire, so only the thoughts of the other four can be alike.
    const texts = new Set(chains.slice(0, 4).map((chain) => trajectoryText(chain.segments)));
    assert.equal(texts.size, 1, [...texts].join("\n\n"));
    const work = new Set(
      chains.map((chain) =>
        JSON.stringify(
          chain.segments
            .filter(({ tag }) => /^(?:web_search|crawl_page|run_code|observation)$/.test(tag))
            .map(({ tag, text }) => [tag, text]),
        ),
      ),
    );
    assert.equal(work.size, 1, [...work].join("\n\n"));
    const [text] = texts;
    assert.match(text!, /^<think>[^<]+<\/think><plan> Plan: 1\) find telescope/);
    assert.equal(text!.match(/<web_search>/g)?.length, 1, "the re-check repeated the search; the chain says it once");
    assert.match(text!, /<think> Verify the launch year\.<\/think><double_check>/);
  });
});
