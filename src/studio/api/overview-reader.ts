/** What was opened: the stages that left folders, how they follow from each other, the files, and how far the index is. */
import { stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Lineage, Manifest } from "../../base/files/manifest.ts";
import type { WorkState } from "../../base/files/work-state.ts";
import { listWorkspace } from "../../base/files/workspace.ts";
import { type LineageView, lineageOf } from "./lineage.ts";
import type { IndexState } from "./open-index.ts";
import type { Reader } from "./reader.ts";

export interface StageView {
  /** Relative to what was opened. */
  path: string;
  kind: string;
  createdAt: string;
  progress?: Manifest["progress"];
  /** Work whose process was killed is `stopped`, whatever its manifest says. */
  state?: WorkState;
  inputs: Lineage[];
  fingerprint: string;
  configuration: Record<string, unknown>;
  /** Why the manifest can't be read. */
  problem?: string;
}

export interface FileView {
  path: string;
  kind: string;
  size: number;
  indexed: number;
  lines: number;
  bad: number;
  problem: string | null;
  mtime: number;
}

export interface OverviewView {
  root: string;
  lineage: LineageView;
  files: FileView[];
  /** Manifests and files that can't be read. */
  problems: { path: string; problem: string }[];
  counts: Record<string, number>;
  index: IndexState;
}

/** `GET /api/overview`. */
export const readOverview: Reader = async (_query, { root, paths, index, items }) => {
  const stages: StageView[] = [];
  for (const path of paths) {
    if (!(await stat(path).catch(() => undefined))?.isDirectory()) continue;
    for (const entry of await listWorkspace(path)) {
      const shown = relative(root, join(path, entry.path)) || ".";
      if ("problem" in entry) {
        const missing = { kind: "unknown", createdAt: "", inputs: [], fingerprint: "", configuration: {} };
        stages.push({ path: shown, ...missing, problem: entry.problem });
        continue;
      }
      const { kind, createdAt, progress, inputs, fingerprint, configuration } = entry.manifest;
      stages.push({ path: shown, kind, createdAt, progress, state: entry.state, inputs, fingerprint, configuration });
    }
  }
  const files = index.files().map(({ path, kind, size, indexed, lines, bad, problem, mtime }) => {
    return { path: relative(root, path) || path, kind, size, indexed, lines, bad, problem, mtime };
  });
  const lineage = lineageOf(root, stages, files);
  const notes = [
    ...stages.flatMap(({ path, problem }) => (problem === undefined ? [] : [{ path, problem }])),
    ...index.problems().map(({ path, problem }) => ({ path: relative(root, path), problem })),
  ];
  return { root, lineage, files, problems: notes, counts: items.counts(), index: index.state() } satisfies OverviewView;
};
