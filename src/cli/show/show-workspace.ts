/** What a folder holds: each stage's work, its size, what it was made from, and what is stale. */
import { existsSync, globSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { findRemovable } from "../../base/files/clean-workspace.ts";
import { modelFolders } from "../../base/files/model-folders.ts";
import { workspaceRoot } from "../../base/files/workspace.ts";
import { bytesOf, type StatusEntry, workspaceStatus } from "../../base/files/workspace-status.ts";
import { megabytes, table } from "../output.ts";
import type { View } from "./shown.ts";

/** Shows the workspace, or any folder with work of stages below it. */
export const showWorkspace: View = async (path) => {
  const root = resolve(path);
  if (!existsSync(root))
    return {
      json: { root, entries: [], bytes: 0, removableBytes: 0 },
      text: `There is no workspace at ${root} yet. Begin with: coa init, coa up <folder or traces>, or coa quickstart`,
    };
  const claimed = await workspaceStatus(root);
  const entries = [...claimed, ...(await unclaimed(root, claimed))];
  const bytes = await bytesOf(root);
  const removable = root === workspaceRoot() ? await findRemovable(root) : [];
  const removableBytes = removable.reduce((sum, one) => sum + one.bytes, 0);
  const head = ["what", "kind", "state", "size", "figures", "made from"];
  return {
    json: { root, entries, bytes, removableBytes },
    text: [
      ...(entries.length > 0 ? [table([head, ...entries.map(rowOf)], ["left", "left", "left", "right"])] : []),
      ...entries.flatMap(({ path: at, stale, problem }) => [
        ...stale.map((change) => `stale: ${at}: ${change}`),
        ...(problem ? [`can't be read: ${at}: ${problem}`] : []),
      ]),
      `${root}: ${entries.length} pieces of work, ${megabytes(bytes)}`,
    ].join("\n"),
    notes: removableBytes > 0 ? [`next: coa clean frees ${megabytes(removableBytes)}`] : [],
  };
};

/** Recordings, indexes and models that no stage has claimed with a manifest. */
async function unclaimed(root: string, claimed: readonly StatusEntry[]): Promise<StatusEntry[]> {
  const known = (path: string) => claimed.some((entry) => path === entry.path || path.startsWith(`${entry.path}/`));
  const found = [
    { path: "recordings", kind: "recordings" },
    ...globSync(["*/index.bin", "index/*/index.bin"], { cwd: root }).map((file) => ({
      path: dirname(file),
      kind: "index",
    })),
    ...modelFolders(root).map((folder) => ({ path: relative(root, folder), kind: "model" })),
  ].filter(({ path }) => path !== "" && !known(path) && existsSync(join(root, path)));
  return Promise.all(
    found.map(async ({ path, kind }) => {
      const bytes = await bytesOf(join(root, path));
      return { path, kind: kind as StatusEntry["kind"], bytes, inputs: [], stale: [] };
    }),
  );
}

function rowOf({ path, kind, progress, state, bytes, inputs, stale, problem }: StatusEntry): string[] {
  const word = problem ? "unreadable" : stale.length > 0 ? "stale" : (state ?? "");
  const count =
    progress && progress.total !== undefined && state !== "done" ? ` ${progress.done}/${progress.total}` : "";
  const figures = Object.entries(progress?.figures ?? {}).map(
    ([name, value]) => `${name} ${typeof value === "number" ? Number(value.toPrecision(4)) : value}`,
  );
  const from = inputs.map(({ role, path: source, records }) =>
    `${role} ${source ?? (records === undefined ? "" : `(${records})`)}`.trim(),
  );
  return [path, kind ?? "", `${word}${count}`, megabytes(bytes), figures.join(", "), from.join(", ")];
}
