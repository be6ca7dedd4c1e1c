/**
 * A reader answers one kind of question of the browser with plain data. Readers are listed by path in `readers.ts`; the
 * server puts them behind HTTP.
 */

import { join } from "node:path";
import { z } from "zod";
import { type Around, recordIn } from "../../base/files/record-kind.ts";
import { CoaError, UsageError } from "../../core/errors.ts";
import { parseJson } from "../../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { type TrainingSequence, trainingSequenceSchema } from "../../dataset/read-tokens.ts";
import type { NamedProfiles } from "../../language/edit-chain.ts";
import type { AnnotationStore } from "./annotation-routes.ts";
import { type Catalog, readRange } from "./open-catalog.ts";
import type { ItemQueries, ItemView } from "./query-items.ts";

export interface StudioContext {
  /** The folder that all shown paths are relative to. */
  root: string;
  /** What was opened: absolute paths of files and folders. */
  paths: readonly string[];
  /** The workspace: where what people write in the studio (views, annotations) is kept. */
  home: string;
  catalog: Catalog;
  items: ItemQueries;
  annotations: AnnotationStore;
  /** Profiles that edits are checked against, by name; a chain's own comes first. The built-in ones by default. */
  profiles?: NamedProfiles;
  /** Log-probabilities of tokens under the model in a folder, where an engine is at hand; the first token has none. */
  score?: (folder: string, tokens: readonly number[]) => Promise<(number | null)[]>;
}

export type Reader = (query: URLSearchParams, context: StudioContext) => unknown;

/** A thing that was asked for is not there. */
export class NotFound extends UsageError {
  constructor(message: string) {
    super(message, { code: "not-found" });
  }
}

/** The item that a question names by `id` (and `in`, its file, where several have the id), or an error that says so. */
export function askedItem(
  query: URLSearchParams,
  { items, catalog, root }: StudioContext,
  kind: ItemView["kind"],
  name = "id",
): { item: ItemView; stored: StoredItem } {
  const key = query.get(name) ?? "";
  const item = items.find(kind, key, query.get("in") ?? undefined);
  if (!item) {
    const still = catalog.isReady ? "" : " (the files are still being read: it may come)";
    throw new NotFound(`no ${kind} "${key}" is in what was opened${still}`);
  }
  return { item, stored: readItem(root, item) };
}

/** A record with what stood around it. */
export type StoredItem =
  | { kind: "run"; run: TeamRun; around?: Around }
  | { kind: "chain"; chain: Trajectory; around?: Around }
  | { kind: "example"; example: TrainingSequence };

/** The record behind a line of the index, read from its file and checked; a broken one says what is wrong and where. */
export function readItem(root: string, item: ItemView): StoredItem {
  const place = `${item.file}:${item.line}`;
  const text = readRange(join(root, item.file), item.offset, item.length).toString("utf8");
  const value = parseJson(text);
  if (value === undefined)
    throw new CoaError("storage", `${place} has changed since it was indexed: load the page again`);
  const found = recordIn(value);
  if (!found) throw new CoaError("format", `${place} holds neither a run nor a chain`);
  if (found.kind === "run") return { ...found, run: checked(place, teamRunSchema.safeParse(found.run)) };
  if (found.kind === "example") {
    return { kind: "example", example: checked(place, trainingSequenceSchema.safeParse(found.example)) };
  }
  return { ...found, chain: checked(place, trajectorySchema.safeParse(found.chain)) };
}

function checked<T>(place: string, result: z.ZodSafeParseResult<T>): T {
  if (result.success) return result.data;
  throw new CoaError("format", `${place} can't be shown: ${z.prettifyError(result.error).slice(0, 1_000)}`);
}
