/** The import table holds, and no two files import each other in a circle. */
import { importTable, readersOnly, typesOnly } from "./import-table.ts";
import { type SourceFile, sourceFiles } from "./source-files.ts";

/** Complaints about imports that the table forbids; tests may import anything. */
export function forbiddenImports(files: readonly SourceFile[]): string[] {
  const complaints: string[] = [];
  for (const file of files) {
    if (/\.test\.tsx?$/.test(file.path)) continue;
    const from = rowOf(file.path);
    const allowed = importTable[from];
    if (!allowed) {
      complaints.push(`${file.path}: the folder "${from}" is not in scripts/import-table.ts`);
      continue;
    }
    for (const { path, typeOnly } of file.imports) {
      const to = path.startsWith("src/") ? rowOf(path) : "outside src";
      if (to === from) continue;
      if (!allows(allowed, to)) {
        complaints.push(`${file.path}: ${from} may not import ${to} (${path})`);
        continue;
      }
      const readers = readersOnly[from];
      if (readers?.folders.includes(to) && !readers.files.test(path)) {
        complaints.push(`${file.path}: ${from} may import only read-*.ts and statistics.ts of ${to} (${path})`);
      }
      if (typesOnly[from]?.includes(to) && !typeOnly) {
        complaints.push(`${file.path}: ${from} may import only types of ${to} (${path})`);
      }
    }
  }
  return complaints;
}

function allows(allowed: readonly string[], to: string): boolean {
  return allowed.some((row) => row === "*" || row === to || to.startsWith(`${row}/`));
}

/** Complaints about grants that no file uses: the table then shows who depends on whom. */
export function unusedGrants(files: readonly SourceFile[], table: typeof importTable = importTable): string[] {
  const used = new Set(
    files
      .filter(({ path }) => !/\.test\.tsx?$/.test(path))
      .flatMap(({ path, imports }) => imports.map((item) => `${rowOf(path)} ${rowOf(item.path)}`)),
  );
  return Object.entries(table).flatMap(([from, grants]) =>
    grants
      .filter(
        (to) => to !== "*" && ![...used].some((pair) => pair === `${from} ${to}` || pair.startsWith(`${from} ${to}/`)),
      )
      .map((to) => `scripts/import-table.ts: ${from} may import ${to}, and no file does`),
  );
}

/** The row of the table that a file belongs to: its two-part folder where the table has one, else its folder. */
export function rowOf(path: string): string {
  const [, first = "", second = ""] = path.split("/");
  const twoPart = `${first}/${second}`;
  return twoPart in importTable ? twoPart : first;
}

/** Complaints about circles of value imports (type imports vanish at run time and do not count). */
export function importCycles(files: readonly SourceFile[]): string[] {
  const edges = new Map(
    files.map((file) => [file.path, file.imports.filter((item) => !item.typeOnly).map((item) => item.path)]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      cycles.push(`import cycle: ${[...trail.slice(at), path].join(" -> ")}`);
      return;
    }
    if (done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return cycles;
}

/** All three checks over one tree. */
export function checkImports(root: string): string[] {
  const files = sourceFiles(root);
  return [...forbiddenImports(files), ...unusedGrants(files), ...importCycles(files)];
}
