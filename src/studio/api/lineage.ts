/** How what was opened follows from each other: a node for each stage and each file of runs, an edge for each input. */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { WorkState } from "../../base/files/claim-folder.ts";
import type { FileRow } from "./catalog-database.ts";
import type { StageView } from "./overview-reader.ts";

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
      href: addressOf(column, path),
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

function addressOf(column: LineageNode["column"], path: string): string {
  return column === "runs" ? "/runs" : screens[column] + encodeURIComponent(path.toWellFormed());
}

/** Whether an input lies in the folder (or is the file) of a node. */
function holds(root: string, id: string, path: string | undefined): boolean {
  if (path === undefined) return false;
  const inside = relative(join(root, id), isAbsolute(path) ? path : join(root, path));
  return inside === "" || (!inside.startsWith("..") && !isAbsolute(inside));
}
