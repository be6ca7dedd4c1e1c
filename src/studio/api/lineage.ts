/** How what was opened follows from each other: a node for each stage and each file of runs, an edge for each input. */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { WorkState } from "../../base/files/work-state.ts";
import type { FileView, StageView } from "./overview-reader.ts";

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
export function lineageOf(root: string, stages: readonly StageView[], files: readonly FileView[]): LineageView {
  const nodes: LineageNode[] = [];
  for (const { path, kind, lines } of files) {
    const inside = stages.some((stage) => columnOf[stage.kind] === "evaluation" && path.startsWith(`${stage.path}/`));
    if (kind !== "runs" || inside) continue;
    const title = basename(path) === "runs.jsonl" ? dirname(path) : path;
    const figures: LineageNode["figures"] = [["runs", lines]];
    nodes.push({
      id: path,
      column: "runs",
      kind: "runs",
      title,
      figures,
      href: `/runs?${new URLSearchParams({ file: path })}`,
    });
  }
  for (const stage of stages) {
    const column = columnOf[stage.kind];
    if (!column || (column === "runs" && nodes.some(({ id }) => id.startsWith(`${stage.path}/`)))) continue;
    const named = stage.configuration["stage"] ?? stage.configuration["system"];
    nodes.push({
      id: stage.path,
      column,
      kind: typeof named === "string" ? named : stage.kind,
      title: stage.path,
      figures: Object.entries(stage.progress?.figures ?? {}).slice(0, 4),
      state: stage.state,
      done: stage.progress?.done,
      total: stage.progress?.total,
      updatedAt: stage.progress?.updatedAt,
      href: addressOf(column, stage.path),
      problem: stage.problem,
    });
  }
  const edges = stages.flatMap((stage) =>
    stage.inputs.flatMap(({ path, fingerprint }) => {
      const from =
        nodes.find(({ id }) => id !== stage.path && holds(root, id, path)) ?? byFingerprint(stages, fingerprint, stage);
      const to = nodes.find(({ id }) => id === stage.path);
      return from && to ? [{ from: "id" in from ? from.id : from.path, to: to.id }] : [];
    }),
  );
  edges.push(
    ...stages.filter(({ kind }) => kind === "quickstart").flatMap(({ path }) => withinQuickstart(path, nodes)),
  );
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

function addressOf(column: LineageNode["column"], path: string): string {
  const name = encodeURIComponent(path.toWellFormed());
  if (column === "distillation") return `/distill/${name}`;
  if (column === "dataset") return `/datasets/${name}`;
  if (column === "training") return `/training/${name}`;
  return column === "evaluation" ? `/evaluations?folder=${name}` : "/runs";
}

/** Whether an input lies in the folder (or is the file) of a node. */
function holds(root: string, id: string, path: string | undefined): boolean {
  if (path === undefined) return false;
  const inside = relative(join(root, id), isAbsolute(path) ? path : join(root, path));
  return inside === "" || (!inside.startsWith("..") && !isAbsolute(inside));
}

function byFingerprint(
  stages: readonly StageView[],
  fingerprint: string | undefined,
  own: StageView,
): StageView | undefined {
  return fingerprint === undefined
    ? undefined
    : stages.find((stage) => stage !== own && stage.fingerprint === fingerprint);
}
