/** The chain of the lab's programming tasks: the `code` profile with short observations. */
import { defineProfile, type Profile } from "../../../src/language/profile.ts";
import { codeProfile } from "../../../src/language/profiles.ts";

/** Tags, order and rules of code chains in the lab. */
export const labCodeProfile: Profile = defineProfile({
  ...codeProfile,
  name: "lab-code",
  style: { layout: "compact", maxCharacters: 300 },
});
