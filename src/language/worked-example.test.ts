import assert from "node:assert/strict";
import { it } from "node:test";
import type { Segment } from "../core/trajectory.ts";
import { builtInProfiles } from "./profiles.ts";
import { systemPrompt } from "./system-prompt.ts";
import { validateSegments } from "./validate.ts";
import { withExample } from "./worked-example.ts";

for (const profile of Object.values(builtInProfiles)) {
  it(`shows ${profile.name} a chain that follows its rules`, () => {
    const example = systemPrompt(withExample(profile)).split('?":\n')[1]!;
    const segments = [...example.matchAll(/<(\w+)>([\s\S]*?)<\/\1>/g)].map(
      ([, tag, text]): Segment => ({ tag: tag!, text: text!, by: tag === profile.observation ? "tool" : "model" }),
    );
    assert.deepEqual(validateSegments(profile, segments), []);
    assert.equal(segments.at(-1)!.tag, profile.answer);
    assert.ok(segments.some(({ tag }) => tag === profile.observation));
  });
}
