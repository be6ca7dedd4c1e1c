import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultStyle } from "../language/profile.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { readProfile } from "./choose-profile.ts";

describe("readProfile", () => {
  it("reads a profile written by hand, fills in what is usual and names what is wrong", () => {
    const { style: _style, think: _think, advice: _advice, gates: _gates, ...written } = mhqaProfile;
    const read = readProfile(JSON.parse(JSON.stringify({ ...written, advice: mhqaProfile.advice })));
    assert.deepEqual(read, { ...mhqaProfile, style: defaultStyle });
    assert.throws(() => readProfile({ name: "x" }, "mine.json"), /mine\.json is not a profile: purpose: /);
    assert.throws(() => readProfile({ ...written, start: ["nowhere"] }), /nowhere/);
  });
});
