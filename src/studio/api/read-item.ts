/** The record behind a line of the index, read from its file and checked; a broken one says what is wrong and where. */
import { join } from "node:path";
import { z } from "zod";
import { type Around, recordIn } from "../../base/files/record-kind.ts";
import { CoaError } from "../../core/errors.ts";
import { parseJson } from "../../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import { type Trajectory, trajectorySchema } from "../../core/trajectory.ts";
import { type TrainingSequence, trainingSequenceSchema } from "../../dataset/read-tokens.ts";
import { readRange } from "./open-catalog.ts";
import type { ItemView } from "./query-items.ts";

/** A record with what stood around it. */
export type StoredItem =
  | { kind: "run"; run: TeamRun; around?: Around }
  | { kind: "chain"; chain: Trajectory; around?: Around }
  | { kind: "example"; example: TrainingSequence };

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
