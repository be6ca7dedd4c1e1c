/** A profile by its name, or from a file of the user's own. */
import { existsSync } from "node:fs";
import { loadModule } from "../base/files/load-module.ts";
import { readJson } from "../base/files/read-json.ts";
import { UsageError } from "../core/errors.ts";
import { labProfile, wideLabProfile } from "../lab/profile.ts";
import { type Profile, readProfile } from "../language/profile.ts";
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
