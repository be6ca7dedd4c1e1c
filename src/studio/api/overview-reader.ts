/** What was opened: the stages that left folders, how they follow from each other, the files, and what can't be read. */
import { stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { WorkState } from "../../base/files/claim-folder.ts";
import type { Manifest } from "../../base/files/manifest.ts";
import { listWorkspace } from "../../base/files/workspace.ts";
import { lineageOf } from "./lineage.ts";
import type { StudioContext } from "./reader.ts";

/** A stage by its manifest; paths are relative to what was opened. */
export interface StageView extends Pick<Manifest, "inputs" | "fingerprint" | "configuration"> {
  path: string;
  kind: string;
  progress?: Manifest["progress"];
  /** Work whose process was killed is `stopped`, whatever its manifest says. */
  state?: WorkState;
  problem?: string;
}

/** `GET /api/overview`. */
export async function readOverview(_query: URLSearchParams, { root, paths, catalog, items }: StudioContext) {
  const stages: StageView[] = [];
  for (const opened of paths) {
    if (!(await stat(opened).catch(() => undefined))?.isDirectory()) continue;
    for (const entry of await listWorkspace(opened)) {
      const path = relative(root, join(opened, entry.path)) || ".";
      const unknown = { kind: "unknown", inputs: [], fingerprint: "", configuration: {} };
      stages.push(
        "problem" in entry ? { ...unknown, ...entry, path } : { ...entry.manifest, state: entry.state, path },
      );
    }
  }
  const files = catalog
    .files()
    .map(({ id: _id, head: _head, ...file }) => ({ ...file, path: relative(root, file.path) || file.path }));
  const problems = [
    ...stages.flatMap(({ path, problem }) => (problem === undefined ? [] : [{ path, problem }])),
    ...catalog.problems().map(({ path, problem }) => ({ path: relative(root, path), problem })),
  ];
  return { root, lineage: lineageOf(root, stages, files), files, problems, counts: items.counts() };
}

/** What was opened, as the browser draws it. */
export type OverviewView = Awaited<ReturnType<typeof readOverview>>;
