/**
 * Downloads a model folder from a hub. Files arrive in a folder beside the target, where an interrupted pull continues;
 * sizes and hashes are checked there, and only then the folder appears under its name, with a manifest that says which
 * revision it is and under which licence.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { claimFolder } from "../../base/files/claim-folder.ts";
import { acquireLock } from "../../base/files/lock.ts";
import { makeFolder } from "../../base/files/make-folder.ts";
import { readManifest } from "../../base/files/manifest.ts";
import { putFolder } from "../../base/files/write-folder.ts";
import { type RetryOptions, retry } from "../../base/work/retry.ts";
import { CoaError, isAbort, messageOf, UsageError } from "../../core/errors.ts";
import type { OnProgress } from "../../core/events.ts";
import { type HubFile, type HubModel, type HubOptions, hubEndpoint, hubFile, hubModel } from "./hub-client.ts";

/** Tries of a file are repeated as `retries` and its pauses say. */
export interface PullOptions extends HubOptions, RetryOptions {
  /** A branch, tag or commit. Default `main`. */
  revision?: string;
  /** Leaves the weights out: configuration and tokenizer alone. */
  withoutWeights?: boolean;
  onProgress?: OnProgress;
}

export interface PulledModel {
  folder: string;
  name: string;
  revision: string;
  license: string | null;
  files: { path: string; size: number; sha256: string }[];
  bytes: number;
  /** It was here already, at the same revision. */
  present: boolean;
}

/** Files of a model folder; weights in any other format, code and pictures stay where they are. */
const wanted =
  /^(?:config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|chat_template|model\.safetensors\.index)\.json$|^(?:merges\.txt|tokenizer\.model|chat_template\.jinja|LICENSE(?:\.\w+)?|NOTICE|USE_POLICY\.md)$/;
const weights = /^[\w.-]+\.safetensors$/;

/** Pulls `owner/name` into a folder. */
export async function pullModel(name: string, folder: string, options: PullOptions = {}): Promise<PulledModel> {
  if (!/^[\w.-]+\/[\w.-]+$/.test(name) || name.includes(".."))
    throw new UsageError(`a model on a hub is named owner/name, for example Qwen/Qwen2.5-0.5B-Instruct; not "${name}"`);
  const model = await hubModel(name, options.revision ?? "main", options);
  const files = chosenFiles(model, options);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const { revision, license } = model;
  const known = await presentModel(folder, model, files);
  if (known) return { folder, name, revision, license, files: known, bytes, present: true };
  const partial = join(dirname(resolve(folder)), `.${basename(folder)}.pull`);
  const lock = await acquireLock(`${partial}.lock`);
  try {
    await makeFolder(partial);
    const done: PulledModel["files"] = [];
    let before = 0;
    for (const file of files) {
      const report = (arrived: number) =>
        options.onProgress?.({
          stage: "pull",
          done: Math.round((before + arrived) / 1e5) / 10,
          total: Math.round(bytes / 1e5) / 10,
          figures: { file: file.path },
        });
      const sha256 = await pullFile(model, file, partial, options, report);
      done.push({ path: file.path, size: file.size, sha256 });
      before += file.size;
    }
    const configuration = { hub: hubEndpoint(options), name, revision, license, files: done };
    const claimed = await claimFolder(partial, { kind: "model", configuration }, { lock: false });
    await claimed.report({ state: "done", done: files.length, total: files.length });
    await putFolder(partial, folder);
    return { folder, name, revision, license, files: done, bytes, present: false };
  } finally {
    await lock.release();
  }
}

function chosenFiles(model: HubModel, { withoutWeights = false }: PullOptions): HubFile[] {
  const files = model.files.filter(({ path }) => wanted.test(path) || (!withoutWeights && weights.test(path)));
  const has = (path: string) => files.some((file) => file.path === path);
  if (!has("config.json")) throw new UsageError(`${model.name} has no config.json: it is not a model folder`);
  if (!has("tokenizer.json"))
    throw new UsageError(`${model.name} has no tokenizer.json, which is needed to use it here`);
  if (!withoutWeights && !files.some(({ path }) => weights.test(path)))
    throw new UsageError(`${model.name} has no weights in safetensors format`);
  return files;
}

/** The files of a folder that holds this revision already; refuses a folder that holds something else. */
async function presentModel(
  folder: string,
  model: HubModel,
  files: readonly HubFile[],
): Promise<PulledModel["files"] | undefined> {
  const found = await stat(folder).catch(() => undefined);
  if (!found) return undefined;
  const { configuration } = (await readManifest(folder)) ?? {};
  const pulled = configuration?.["files"] as PulledModel["files"] | undefined;
  const same = configuration?.["name"] === model.name && configuration["revision"] === model.revision;
  if (same && pulled && files.every(({ path }) => pulled.some((one) => one.path === path))) return pulled;
  const is = same
    ? "without all of these files"
    : configuration?.["revision"]
      ? `${configuration["name"]} at ${configuration["revision"]}`
      : "something else";
  throw new UsageError(`${folder} is there already and holds ${is}: name another folder with --out, or delete it`);
}

/** Downloads one file, from where an earlier try stopped, and returns its SHA-256. */
async function pullFile(
  model: HubModel,
  file: HubFile,
  folder: string,
  options: PullOptions,
  report: (arrived: number) => void,
): Promise<string> {
  const path = join(folder, file.path);
  if ((await stat(path).catch(() => undefined))?.size === file.size) return check(path, file);
  const part = `${path}.part`;
  await retry(() => download(model, file, part, options, report), options);
  const sha256 = await check(part, file);
  await rename(part, path);
  return sha256;
}

async function download(
  model: HubModel,
  file: HubFile,
  part: string,
  options: PullOptions,
  report: (arrived: number) => void,
): Promise<void> {
  const here = (await stat(part).catch(() => undefined))?.size ?? 0;
  if (here === file.size && here > 0) return;
  const from = here > file.size ? 0 : here;
  const response = await hubFile(model, file, from, options);
  const continued = response.status === 206;
  if (continued && response.headers.get("content-range")?.startsWith(`bytes ${from}-`) !== true)
    throw new CoaError("network", `the hub sends another part of ${file.path} than was asked for`);
  const handle = await open(part, continued ? "a" : "w");
  let arrived = continued ? from : 0;
  let broken: unknown;
  try {
    for await (const chunk of response.body ?? []) {
      arrived += chunk.length;
      if (arrived > file.size)
        throw new CoaError("network", `${file.path} is longer than the ${file.size} bytes that the hub says`);
      await handle.write(chunk);
      report(arrived);
    }
    await handle.sync();
  } catch (error) {
    // A connection that broke, as opposed to a disk that is full.
    if (error instanceof CoaError || isAbort(error) || (error as { syscall?: string }).syscall) throw error;
    broken = error;
  } finally {
    await handle.close();
  }
  if (arrived < file.size)
    throw new CoaError(
      "network",
      `${file.path} broke off at ${arrived} of ${file.size} bytes${broken ? ` (${messageOf(broken)})` : ""}: run the same command to continue`,
      { retryable: true },
    );
}

/** The file's SHA-256, once its size and its hash are what the hub says; a file that differs is deleted. */
async function check(path: string, file: HubFile): Promise<string> {
  const sha256 = createHash("sha256");
  const blob = createHash("sha1").update(`blob ${file.size}\0`);
  for await (const chunk of createReadStream(path)) {
    sha256.update(chunk as Buffer);
    blob.update(chunk as Buffer);
  }
  const found = sha256.digest("hex");
  const size = (await stat(path)).size;
  const right =
    size === file.size && (file.sha256 ? found === file.sha256 : !file.blobId || blob.digest("hex") === file.blobId);
  if (right) return found;
  await rm(path, { force: true });
  throw new CoaError(
    "network",
    `${file.path} is not what the hub says it is (size or hash differ); it was deleted: run the same command again`,
  );
}
