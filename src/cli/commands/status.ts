import { existsSync } from "node:fs";
import { findRemovable } from "../../base/files/clean-workspace.ts";
import { workspaceRoot } from "../../base/files/workspace.ts";
import { bytesOf, type StatusEntry, workspaceStatus } from "../../base/files/workspace-status.ts";
import { defineCommand } from "../command.ts";
import { megabytes, table } from "../output.ts";

export default defineCommand({
  name: "status",
  summary: "Show what the workspace holds: each stage's work, its size, what it was made from, and what is stale.",
  examples: ["coa status", "coa status --json"],
  options: {},
  async run({ values, out }) {
    const root = workspaceRoot();
    if (!existsSync(root)) {
      if (values.json) out.json({ root, entries: [], bytes: 0, removableBytes: 0 });
      else
        out.print(
          `There is no workspace at ${root} yet. Begin with: coa init, coa up <folder or traces>, or coa quickstart`,
        );
      return 0;
    }
    const entries = await workspaceStatus(root);
    const bytes = await bytesOf(root);
    const removable = await findRemovable(root);
    const removableBytes = removable.reduce((sum, one) => sum + one.bytes, 0);
    if (values.json) {
      out.json({ root, entries, bytes, removableBytes });
      return 0;
    }
    if (entries.length > 0)
      out.print(
        table(
          [["what", "kind", "state", "size", "made from"], ...entries.map(rowOf)],
          ["left", "left", "left", "right"],
        ),
      );
    for (const { path, stale, problem } of entries) {
      for (const change of stale) out.print(`stale: ${path}: ${change}`);
      if (problem) out.print(`can't be read: ${path}: ${problem}`);
    }
    out.print(`${root}: ${entries.length} pieces of work, ${megabytes(bytes)}`);
    if (removableBytes > 0) out.note(`next: coa clean frees ${megabytes(removableBytes)}`);
    return 0;
  },
});

function rowOf({ path, kind, progress, state, bytes, inputs, stale, problem }: StatusEntry): string[] {
  const word = problem ? "unreadable" : stale.length > 0 ? "stale" : (state ?? "");
  const count =
    progress && progress.total !== undefined && state !== "done" ? ` ${progress.done}/${progress.total}` : "";
  const from = inputs.map(({ role, path: source, records }) =>
    `${role} ${source ?? (records === undefined ? "" : `(${records})`)}`.trim(),
  );
  return [path, kind ?? "", `${word}${count}`, megabytes(bytes), from.join(", ")];
}
