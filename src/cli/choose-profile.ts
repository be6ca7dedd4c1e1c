/** A profile by its name, or from a file of the user's own. */
import { existsSync } from "node:fs";
import { loadModule } from "../base/files/load-module.ts";
import { readJson } from "../base/files/read-json.ts";
import { UsageError } from "../core/errors.ts";
import { type Profile, profileSchema } from "../core/profile.ts";
import { labProfile, wideLabProfile } from "../lab/profile.ts";
import { defineProfile, usual } from "../language/profile.ts";
import { builtInProfiles } from "../language/profiles.ts";

export const namedProfiles: Readonly<Record<string, Profile>> = {
  ...builtInProfiles,
  lab: labProfile,
  "lab-wide": wideLabProfile,
};

/** The profile with this name, or the default export of this module. */
export async function chooseProfile(name: string): Promise<Profile> {
  const named = namedProfiles[name];
  if (named) return named;
  if (!existsSync(name)) {
    throw new UsageError(
      `there is no profile "${name}"; there are ${Object.keys(namedProfiles).join(", ")}, or give a file that exports one`,
    );
  }
  if (name.endsWith(".json")) return readProfile(await readJson(name), name);
  const { default: profile } = (await loadModule(name)) as { default?: Profile };
  if (!profile?.tags) throw new UsageError(`${name} has no profile as its default export: use defineProfile`);
  return readProfile(profile, name);
}

/** A profile from data written by hand: names that are usual may be left out, and what is wrong is named. */
export function readProfile(value: unknown, where = "the profile"): Profile {
  const draft: Partial<Profile> = typeof value === "object" && value !== null ? value : {};
  const parsed = profileSchema.safeParse({ ...usual, ...draft });
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, 3).map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw new UsageError(`${where} is not a profile: ${issues.join("; ")}`);
  }
  return defineProfile(parsed.data);
}
