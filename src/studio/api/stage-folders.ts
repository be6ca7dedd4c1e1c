/** Folders that stages left, known by the kind of file in them that the index found. */
import { dirname, join, relative } from "node:path";
import type { FileKind } from "../../base/files/record-kind.ts";
import type { FileRow } from "./catalog-database.ts";
import { NotFound, type Reader, type StudioContext } from "./reader.ts";

/** A folder with the file that makes it one of a stage (`outcomes` of a distillation); both paths are relative to what was opened. */
export interface StageFolder {
  folder: string;
  file: string;
  row: FileRow;
}

export function stageFolders({ catalog, root }: StudioContext, kind: FileKind): StageFolder[] {
  return catalog
    .files()
    .filter((row) => row.kind === kind)
    .map((row) => ({ folder: relative(root, dirname(row.path)) || ".", file: relative(root, row.path), row }));
}

/** The folder that a question names, or an error that says that it is not one. */
export function askedFolder(
  query: URLSearchParams,
  context: StudioContext,
  kind: FileKind,
): StageFolder & { path: string } {
  const name = query.get("folder");
  const found = stageFolders(context, kind).find(({ folder }) => folder === name);
  if (!found) throw new NotFound(`no ${kind} are in "${name}"`);
  return { ...found, path: join(context.root, found.folder) };
}

/** `GET /api/folders?kind=examples`. */
export const readFolders: Reader = (query, context) => [
  ...new Set(stageFolders(context, query.get("kind") as FileKind).map(({ folder }) => folder)),
];
