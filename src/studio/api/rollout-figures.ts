/** What updates did with rollouts: the lines with their names in the file of figures beside them. */
import type { RolloutFigures } from "../../core/chain-marks.ts";
import { parseJson } from "../../core/json-value.ts";
import type { FileRow } from "./catalog-database.ts";
import { readRange } from "./open-catalog.ts";

/** The figures of these rollouts, by their name; those that no update has seen yet are absent. */
export function rolloutFigures(file: FileRow | undefined, wanted: ReadonlySet<string>): Map<string, RolloutFigures> {
  const found = new Map<string, RolloutFigures>();
  if (!file || wanted.size === 0) return found;
  for (const line of readRange(file.path, 0, file.size).toString("utf8").split("\n")) {
    const name = /"rollout":"([^"]+)"/.exec(line)?.[1];
    if (name === undefined || !wanted.has(name)) continue;
    // One that can't be read is being written: the next look has it.
    const figures = parseJson(line);
    if (figures !== undefined) found.set(name, figures as RolloutFigures);
  }
  return found;
}
