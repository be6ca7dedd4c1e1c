/** What was opened: the stages that left folders, how they follow from each other, the files, and what can't be read. */
import { stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { WorkState } from "../../base/files/claim-folder.ts";
import { listWorkspace } from "../../base/files/list-workspace.ts";
import type { Manifest } from "../../base/files/manifest.ts";
import type { FileRow } from "./catalog-database.ts";
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

export interface LineageNode {
  id: string;
  /** Which column it is in, from what was recorded to what was measured. */
  column: "runs" | "distillation" | "dataset" | "training" | "evaluation";
  kind: string;
  title: string;
  /** What to read on it: `kept 88`, `loss 0.21`. */
  figures: [name: string, value: number | string][];
  state?: WorkState;
  done?: number;
  total?: number;
  updatedAt?: string;
  /** Where the app shows it. */
  href: string;
  problem?: string;
}

export interface LineageView {
  nodes: LineageNode[];
  edges: { from: string; to: string }[];
}

const columnOf: Record<string, LineageNode["column"]> = {
  distillation: "distillation",
  dataset: "dataset",
  training: "training",
  evaluation: "evaluation",
  recordings: "runs",
  "team-runs": "runs",
};

/** Makes the graph from manifests and files. */
export function lineageOf(
  root: string,
  stages: readonly StageView[],
  files: readonly Pick<FileRow, "path" | "kind" | "lines">[],
): LineageView {
  const evaluations = stages.filter(({ kind }) => kind === "evaluation");
  const nodes = files
    .filter(({ path, kind }) => kind === "runs" && !evaluations.some((stage) => path.startsWith(`${stage.path}/`)))
    .map(
      ({ path, lines }): LineageNode => ({
        id: path,
        column: "runs",
        kind: "runs",
        title: basename(path) === "runs.jsonl" ? dirname(path) : path,
        figures: [["runs", lines]],
        href: `/runs?${new URLSearchParams({ file: path })}`,
      }),
    );
  for (const { path, kind, configuration, progress, state, problem } of stages) {
    const column = columnOf[kind];
    if (!column || (column === "runs" && nodes.some(({ id }) => id.startsWith(`${path}/`)))) continue;
    const { done, total, updatedAt, figures = {} } = progress ?? {};
    const named = configuration["stage"] ?? configuration["system"];
    nodes.push({
      id: path,
      column,
      kind: typeof named === "string" ? named : kind,
      title: path,
      figures: Object.entries(figures).slice(0, 4),
      state,
      done,
      total,
      updatedAt,
      href: column === "runs" ? "/runs" : screens[column] + encodeURIComponent(path.toWellFormed()),
      problem,
    });
  }
  const edges = stages.flatMap((stage) =>
    stage.inputs.flatMap(({ path, fingerprint }) => {
      const from =
        nodes.find(({ id }) => id !== stage.path && holds(root, id, path))?.id ??
        stages.find((one) => one !== stage && fingerprint !== undefined && one.fingerprint === fingerprint)?.path;
      return from !== undefined && nodes.some(({ id }) => id === stage.path) ? [{ from, to: stage.path }] : [];
    }),
  );
  for (const { kind, path } of stages) if (kind === "quickstart") edges.push(...withinQuickstart(path, nodes));
  return { nodes, edges: [...new Map(edges.map((edge) => [JSON.stringify(edge), edge])).values()] };
}

/** A quickstart makes every stage of its folder from the one before, and says so once, in its own manifest. */
function withinQuickstart(path: string, nodes: readonly LineageNode[]): LineageView["edges"] {
  const own = nodes.filter(({ id }) => path === "." || id.startsWith(`${path}/`));
  const before = (column: LineageNode["column"], kind?: string) =>
    own.find((node) => node.column === column && (kind === undefined || node.kind === kind))?.id;
  const sources = (node: LineageNode): string | undefined => {
    if (node.column === "distillation") return before("runs");
    if (node.column === "dataset") return before("distillation");
    if (node.column === "training") return node.kind === "rl" ? before("training", "sft") : before("dataset");
    return node.column === "evaluation" ? before("training", /^chain-(\w+)/.exec(node.kind)?.[1] ?? "") : undefined;
  };
  return own.flatMap((node) => {
    const from = sources(node);
    return from === undefined || from === node.id ? [] : [{ from, to: node.id }];
  });
}

const screens = {
  distillation: "/distill/",
  dataset: "/datasets/",
  training: "/training/",
  evaluation: "/evaluations?folder=",
};

/** Whether an input lies in the folder (or is the file) of a node. */
function holds(root: string, id: string, path: string | undefined): boolean {
  if (path === undefined) return false;
  const inside = relative(join(root, id), isAbsolute(path) ? path : join(root, path));
  return inside === "" || (!inside.startsWith("..") && !isAbsolute(inside));
}
