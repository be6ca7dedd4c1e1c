/**
 * A single file of records belongs to one configuration too: its manifest is beside it. The file's own writer holds the
 * lock, so open that first. A file without a manifest (made by hand) is taken over as it is.
 */
import { stat } from "node:fs/promises";
import type { Hint } from "../../core/errors.ts";
import { type Claim, manifestOf, refuseOther } from "./claim-folder.ts";
import { type Manifest, type ManifestProgress, manifestBeside, readManifestFile } from "./manifest.ts";
import { writeJson } from "./write-file.ts";

/** A file that belongs to this work. */
export interface ClaimedFile {
  readonly manifest: Manifest;
  /** Writes how far the work is. */
  report(progress: Omit<ManifestProgress, "updatedAt">): Promise<void>;
}

/** Claims a file for a configuration; other work on the same file is refused with the first difference named. */
export async function claimFile(file: string, claim: Claim, options: { hint?: Hint } = {}): Promise<ClaimedFile> {
  const path = manifestBeside(file);
  const wanted = manifestOf(claim);
  // Without records a manifest claims nothing: the file was deleted to start again, or the first start wrote nothing.
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  const before = size > 0 ? await readManifestFile(path) : undefined;
  if (before) refuseOther(file, before, wanted, options.hint);
  let manifest = before ?? wanted;
  if (!before) await writeJson(path, manifest);
  return {
    get manifest() {
      return manifest;
    },
    async report(progress) {
      manifest = { ...manifest, progress: { ...progress, updatedAt: new Date().toISOString() } };
      await writeJson(path, manifest);
    },
  };
}
