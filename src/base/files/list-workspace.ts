/** What stages left under a folder, by the manifests that they wrote. */
import { readdir } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { messageOf } from "../../core/errors.ts";
import { type WorkState, workState } from "./claim-folder.ts";
import { type Manifest, manifestName, readManifest, readManifestFile } from "./manifest.ts";

/** A folder or file that a stage left, or one whose manifest can't be read, with the reason. */
export type WorkspaceEntry = { path: string } & ({ manifest: Manifest; state: WorkState } | { problem: string });

const maxDepth = 6;

/** Everything that stages left under a folder, in the order of their making; a folder inside another is listed too. */
export async function listWorkspace(root: string): Promise<WorkspaceEntry[]> {
  const found: WorkspaceEntry[] = [];
  async function add(path: string, read: Promise<Manifest | undefined>): Promise<void> {
    try {
      const manifest = (await read)!;
      found.push({ path, manifest, state: await workState(join(root, path), manifest.progress) });
    } catch (error) {
      found.push({ path, problem: messageOf(error) });
    }
  }
  async function visit(folder: string, depth: number): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    if (entries.some((entry) => entry.name === manifestName)) {
      await add(relative(root, folder) || ".", readManifest(folder));
    }
    for (const { name } of entries) {
      if (!name.endsWith(`.${manifestName}`)) continue;
      const path = relative(root, join(folder, name.slice(0, -manifestName.length - 1)));
      await add(`${path}.jsonl`, readManifestFile(join(folder, name)));
    }
    if (depth === maxDepth) return;
    for (const entry of entries) {
      if (entry.isDirectory() && !entry.name.startsWith(".")) await visit(join(folder, entry.name), depth + 1);
    }
  }
  await visit(resolve(root), 0);
  const made = (entry: WorkspaceEntry) => ("manifest" in entry ? entry.manifest.createdAt : "");
  return found.sort((a, b) => made(a).localeCompare(made(b)) || a.path.localeCompare(b.path));
}
