import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fingerprint } from "../core/fingerprint.ts";
import { type AfmAgent, afmPrompt } from "./afm-preset.ts";

describe("the published prompts", () => {
  it("are kept letter by letter: an editor that strips spaces at the end of lines would change them", () => {
    const known: Record<AfmAgent, string> = {
      web: "b4269deb3d011c60bac25fdf",
      mhqa: "a5ef4d848190fccd4907c73c",
      math: "f5380dd9aac7f06762c971f1",
      program: "6f962e56b18bac8a502230e5",
    };
    for (const [agent, print] of Object.entries(known))
      assert.equal(fingerprint(afmPrompt(agent as AfmAgent)), print, agent);
  });
});
