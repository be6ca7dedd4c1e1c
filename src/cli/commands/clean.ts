import { existsSync } from "node:fs";
import { relative } from "node:path";
import { findRemovable, removeAll } from "../../base/files/clean-workspace.ts";
import { workspaceRoot } from "../../base/files/workspace.ts";
import { openServeStore, storeFile } from "../../serve/store/open-store.ts";
import { defineCommand } from "../command.ts";
import { megabytes } from "../output.ts";
import { toggle } from "../setting.ts";

export default defineCommand({
  summary:
    "Delete what the workspace can do without: checkpoints of finished trainings, caches, expired responses. Never recordings, datasets, models or evaluations.",
  examples: ["coa clean --dry-run", "coa clean"],
  options: {
    "dry-run": toggle("Show what would be deleted, and delete nothing"),
  },
  async run({ values }) {
    const root = workspaceRoot();
    const found = existsSync(root) ? await findRemovable(root) : [];
    const dryRun = values["dry-run"];
    if (!dryRun) await removeAll(found);
    const responses = await cleanServed(`${root}/serve`, dryRun);
    const bytes = found.reduce((sum, one) => sum + one.bytes, 0);
    return {
      json: { root, deleted: !dryRun, found, bytes, responses },
      text: [
        ...found.map((one) => `${megabytes(one.bytes).padStart(10)}  ${one.what}: ${relative(root, one.path)}`),
        ...(responses > 0 ? [`${String(responses).padStart(10)}  expired or deleted responses`] : []),
        `${dryRun ? "would free" : "freed"} ${megabytes(bytes)}`,
      ],
      notes: dryRun && bytes + responses > 0 ? ["next: coa clean"] : [],
    };
  },
});

async function cleanServed(folder: string, dryRun: boolean): Promise<number> {
  if (!existsSync(storeFile(folder))) return 0;
  const store = await openServeStore(folder);
  try {
    return await store.clean({ dryRun });
  } finally {
    await store.close();
  }
}
