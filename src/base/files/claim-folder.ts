/**
 * A folder belongs to one configuration. The first claim writes the manifest; a later one with the same configuration
 * resumes, one with another is refused with the first difference named. While a claim is held no other process can
 * claim the folder.
 */
import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join, parse } from "node:path";
import { type Hint, UsageError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import { asObject, canonicalJson } from "../../core/json-value.ts";
import { acquireLock, isLocked } from "./lock.ts";
import { makeFolder } from "./make-folder.ts";
import {
  type Lineage,
  type Manifest,
  type ManifestKind,
  type ManifestProgress,
  manifestBeside,
  manifestName,
  readManifest,
  readManifestFile,
} from "./manifest.ts";
import { packageVersion } from "./package-version.ts";
import { writeJson } from "./write-file.ts";

/** What to do with work that is there already: continue it, refuse, or delete it and start again. */
export type Resume = "auto" | "never" | "fresh";

export interface Claim {
  kind: ManifestKind;
  /** Everything that decides the result, as plain data. */
  configuration: Readonly<Record<string, unknown>>;
  inputs?: readonly Lineage[];
}

/** A folder that is ours until it is released. */
export interface ClaimedFolder {
  readonly path: string;
  manifest(): Manifest;
  /** Work of an earlier process is there. */
  readonly resumed: boolean;
  report(progress: Omit<ManifestProgress, "updatedAt">): Promise<void>;
  release(): Promise<void>;
}

const lockName = ".lock";

/** What became of a stage's work; `stopped`: killed, failed without a word, or the machine was restarted. */
export type WorkState = ManifestProgress["state"] | "stopped";

/**
 * The state of the work in a folder, or in a single file of records. Whether it runs is known by its lock, not by its
 * manifest: a process that was killed has no time to write that it ended.
 */
export async function workState(path: string, { state }: ManifestProgress): Promise<WorkState> {
  if (state !== "running") return state;
  return (await isLocked(join(path, lockName))) || (await isLocked(`${path}.lock`)) ? "running" : "stopped";
}

export async function claimFolder(
  path: string,
  claim: Claim,
  options: { resume?: Resume; lock?: boolean; hint?: Hint } = {},
): Promise<ClaimedFolder> {
  const { resume = "auto" } = options;
  await makeFolder(path);
  const lock = options.lock === false ? undefined : await acquireLock(join(path, lockName));
  try {
    const wanted = manifestOf(claim);
    let before = await readManifest(path);
    if (before && resume === "never") {
      throw new UsageError(`${path} holds a ${before.kind} already; name another folder`);
    }
    if (resume === "fresh") {
      await clear(path, before);
      before = undefined;
    }
    if (before) refuseOther(path, before, wanted, options.hint);
    const resumed = before !== undefined;
    return {
      path,
      resumed,
      ...(await kept(join(path, manifestName), before, wanted)),
      release: async () => lock?.release(),
    };
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

/** The manifest of work that continues or begins, as it is now and as it is reported on. */
async function kept(file: string, before: Manifest | undefined, wanted: Manifest) {
  let manifest = before ?? wanted;
  if (!before) await writeJson(file, manifest);
  return {
    manifest: () => manifest,
    async report(progress: Omit<ManifestProgress, "updatedAt">) {
      manifest = { ...manifest, progress: { ...progress, updatedAt: new Date().toISOString() } };
      await writeJson(file, manifest);
    },
  };
}

/** The manifest of work that begins now. */
function manifestOf({ kind, configuration, inputs = [] }: Claim): Manifest {
  const now = new Date().toISOString();
  // As it will be read back: what JSON can't hold must not look like a difference.
  const plain = JSON.parse(JSON.stringify({ configuration, inputs })) as Pick<Manifest, "configuration" | "inputs">;
  const identity = { kind, configuration: plain.configuration, inputs: plain.inputs.map((input) => identityOf(input)) };
  return {
    version: 1,
    kind,
    createdAt: now,
    packageVersion: packageVersion(),
    ...plain,
    fingerprint: fingerprint(canonicalJson(identity)),
    progress: { state: "running", done: 0, updatedAt: now },
  };
}

/** An input is the same when its content is; where that is not known, when its path is. */
function identityOf({ role, path, fingerprint }: Lineage): Record<string, unknown> {
  return fingerprint === undefined ? { role, path } : { role, fingerprint };
}

/** Refuses to continue other work, with the first difference named. */
function refuseOther(path: string, before: Manifest, wanted: Manifest, hint: Hint | undefined): void {
  if (before.fingerprint === wanted.fingerprint) return;
  const difference =
    before.kind === wanted.kind
      ? (differenceOf(before.configuration, wanted.configuration) ??
        inputDifference(before.inputs, wanted.inputs) ??
        "the configuration differs")
      : `it is a ${before.kind}, not a ${wanted.kind}`;
  const message = `${path} belongs to other work: ${difference}. Use the same settings, or another name such as ${freeName(path)}`;
  throw new UsageError(message, { hint });
}

/** A name beside a path that nothing has yet. */
function freeName(path: string): string {
  const { dir, name, ext } = parse(path);
  let number = 2;
  while (existsSync(join(dir, `${name}-${number}${ext}`))) number++;
  return `${name}-${number}${ext}`;
}

/** The first input that differs, in words: what it is, and how many records it has where that is known. */
function inputDifference(before: readonly Lineage[], now: readonly Lineage[]): string | undefined {
  for (const [index, input] of now.entries()) {
    const was = before[index];
    if (was && JSON.stringify(identityOf(was)) === JSON.stringify(identityOf(input))) continue;
    const shown = (one: Lineage | undefined) =>
      one?.records === undefined ? (one?.fingerprint ?? one?.path ?? "none") : `${one.records} ${one.role}`;
    return `its ${input.role} differ (${shown(was)}, now ${shown(input)})`;
  }
  return before.length === now.length ? undefined : `it had ${before.length} inputs, now ${now.length}`;
}

/** The first place where two values differ, in words; undefined where they are equal. */
function differenceOf(before: unknown, now: unknown, name = ""): string | undefined {
  const [a, b] = [asObject(before), asObject(now)];
  if (a && b) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const found = differenceOf(a[key], b[key], name === "" ? key : `${name}.${key}`);
      if (found) return found;
    }
    return undefined;
  }
  const [was, is] = [before, now].map((value) => (value === undefined ? "not set" : canonicalJson(value)));
  return was === is ? undefined : `${name || "the value"} was ${short(was!)}, is ${short(is!)}`;
}

function short(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** Deletes earlier work; files that no stage of ours left are never deleted. */
async function clear(path: string, before: Manifest | undefined): Promise<void> {
  const names = (await readdir(path)).filter((name) => name !== lockName && !name.startsWith(`${lockName}.`));
  if (names.length > 0 && !before) {
    throw new UsageError(`${path} holds files that no stage of coa made (${names[0]}); name an empty folder`);
  }
  // The manifest last: a crash in between leaves a folder that is still known as ours.
  for (const name of names.sort((a, b) => Number(a === manifestName) - Number(b === manifestName)))
    await rm(join(path, name), { recursive: true, force: true });
}

/**
 * A single file of records belongs to one configuration too: its manifest is beside it. The file's own writer holds the
 * lock, so open that first. A file without a manifest (made by hand) is taken over as it is.
 */
export async function claimFile(file: string, claim: Claim, options: { hint?: Hint } = {}) {
  const path = manifestBeside(file);
  const wanted = manifestOf(claim);
  // Without records a manifest claims nothing: the file was deleted to start again, or the first start wrote nothing.
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  const before = size > 0 ? await readManifestFile(path) : undefined;
  if (before) refuseOther(file, before, wanted, options.hint);
  return kept(path, before, wanted);
}
