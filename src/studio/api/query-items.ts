/**
 * Lists of runs and chains: pages, facets and search over the index. Facets are rolled up from one table of counts by
 * all columns together, which is computed once for each state of the index, so choosing a value is fast.
 */
import { dirname, relative } from "node:path";
import type { CatalogRow } from "./catalog-row.ts";
import type { Catalog } from "./open-catalog.ts";

export interface ItemView extends Omit<CatalogRow, "text"> {
  id: number;
  /** Path of its file, relative to what was opened. */
  file: string;
  line: number;
  offset: number;
  length: number;
}

export type FacetName = "origin" | "system" | "family" | "ending" | "reward" | "file";

/** What a list can be sorted by. */
export type ItemSort = "order" | "reward" | "tokens" | "moves" | "calls";

export interface ItemFilter {
  kind: "run" | "chain" | "example";
  q?: string;
  task?: string;
  values?: Partial<Record<FacetName, string[]>>;
}

/** What lists can be narrowed by, in the order that the page shows. */
export const facetNames: readonly FacetName[] = ["origin", "system", "family", "ending", "reward", "file"];
/** What lists can be sorted by, with the column. */
export const sorts: Readonly<Record<ItemSort, string>> = {
  order: "id",
  reward: "reward",
  tokens: "billed",
  moves: "moves",
  calls: "toolCalls",
};
const rewardBucket =
  "CASE WHEN reward IS NULL THEN 'none' WHEN reward <= 0 THEN '0' WHEN reward >= 1 THEN '1' ELSE 'between' END";
const columnOf = (name: FacetName) => (name === "reward" ? rewardBucket : name);

const orderOf = ({ by, down }: { by: ItemSort; down: boolean }) =>
  `${sorts[by]} ${down ? "DESC" : "ASC"}${by === "order" ? "" : `, id ${down ? "DESC" : "ASC"}`}`;

type Cube = { values: Record<FacetName, string>; count: number }[];

/** Queries over an index whose files lie below `root`. */
export function itemQueries(catalog: Catalog, root: string) {
  const { database } = catalog;
  const remembered = new Map<string, { version: number; value: unknown }>();
  const remember = <T>(name: string, make: () => T): T => {
    const known = remembered.get(name);
    if (known && known.version === catalog.version) return known.value as T;
    const value = make();
    remembered.delete(name);
    remembered.set(name, { version: catalog.version, value });
    if (remembered.size > 24) remembered.delete(remembered.keys().next().value!);
    return value;
  };
  const files = () =>
    remember("files", () => new Map(catalog.files().map(({ id, path }) => [id, relative(root, path) || path])));
  const fileId = (name: string) => [...files()].find(([, shown]) => shown === name)?.[0] ?? -1;

  function condition({ kind, q, task, values = {} }: ItemFilter): { sql: string; bound: (string | number)[] } {
    const parts = ["kind = ?"];
    const bound: (string | number)[] = [kind];
    for (const name of facetNames) {
      const wanted = values[name];
      if (!wanted || wanted.length === 0) continue;
      parts.push(`${columnOf(name)} IN (${wanted.map(() => "?").join(", ")})`);
      bound.push(...wanted.map((value) => (name === "file" ? fileId(value) : value)));
    }
    if (task) {
      parts.push("taskId = ?");
      bound.push(task);
    }
    const words = q ? matchOf(q) : undefined;
    if (words !== undefined) {
      parts.push("id IN (SELECT rowid FROM words WHERE words MATCH ?)");
      bound.push(words);
    }
    return { sql: parts.join(" AND "), bound };
  }

  const itemsWhere = (where: string, ...bound: (string | number)[]) =>
    viewsOf(database.prepare(`SELECT * FROM item WHERE ${where}`).all(...bound));
  const viewsOf = (rows: readonly unknown[]): ItemView[] =>
    (rows as (Omit<ItemView, "file"> & { file: number })[]).map((row) => ({
      ...row,
      file: files().get(row.file) ?? "",
    }));

  function cube(filter: ItemFilter): Cube {
    const open: ItemFilter = { kind: filter.kind, q: filter.q, task: filter.task };
    return remember(`cube ${JSON.stringify(open)}`, () => {
      const { sql, bound } = condition(open);
      const named = facetNames.map((name) => `${columnOf(name)} AS ${name}`).join(", ");
      const rows = database
        .prepare(`SELECT ${named}, count(*) AS count FROM item WHERE ${sql} GROUP BY ${facetNames.join(", ")}`)
        .all(...bound) as unknown as (Record<FacetName, string | number> & { count: number })[];
      return rows.map(({ count, ...values }) => ({
        count,
        values: { ...values, file: files().get(Number(values.file)) ?? "" } as Record<FacetName, string>,
      }));
    });
  }

  const idsOf = (filter: ItemFilter, order: string): Int32Array =>
    remember(`ids ${order} ${JSON.stringify(filter)}`, () => {
      const { sql, bound } = condition(filter);
      const statement = database.prepare(`SELECT id FROM item WHERE ${sql} ORDER BY ${order}`);
      statement.setReturnArrays(true);
      return Int32Array.from(statement.all(...bound) as unknown as number[][], ([id]) => id!);
    });

  /** Lines of a dataset say no question: it is that of the chain they were made from. */
  const questionOf = database.prepare(
    "SELECT question FROM item WHERE key = ? AND +kind = 'chain' AND runId <> '' LIMIT 1",
  );
  const asked = (rows: ItemView[]) =>
    rows.map((row) =>
      row.kind === "example" ? { ...row, question: String(questionOf.get(row.key)?.["question"] ?? "") } : row,
    );

  const passes = (values: Record<FacetName, string>, filter: ItemFilter, except?: FacetName) =>
    facetNames.every((name) => {
      const wanted = filter.values?.[name];
      return name === except || !wanted || wanted.length === 0 || wanted.includes(values[name]);
    });

  return {
    page(filter: ItemFilter, { by, down }: { by: ItemSort; down: boolean }, offset: number, limit: number) {
      const total = cube(filter).reduce((sum, { values, count }) => sum + (passes(values, filter) ? count : 0), 0);
      const { sql, bound } = condition(filter);
      const order = orderOf({ by, down });
      if (offset === 0) {
        // The plus signs keep the choice of an index to the order: with a limit that is the fast one.
        const filtered = by === "order" ? sql : sql.replaceAll(/ AND (\w+) IN/g, " AND +$1 IN");
        const rows = itemsWhere(`${filtered} ORDER BY ${order} LIMIT ?`, ...bound, limit);
        return { rows: asked(rows), total, offset };
      }
      const wanted = [...idsOf(filter, order).subarray(offset, offset + limit)];
      const found = new Map(itemsWhere(`id IN (${wanted.join(",")})`).map((item) => [item.id, item]));
      return { rows: asked(wanted.flatMap((id) => found.get(id) ?? [])), total, offset };
    },
    facets(filter: ItemFilter) {
      const all = cube(filter);
      return facetNames.map((name) => {
        const counts = new Map<string, number>();
        for (const { values, count } of all) {
          if (passes(values, filter, name)) counts.set(values[name], (counts.get(values[name]) ?? 0) + count);
        }
        for (const value of filter.values?.[name] ?? []) if (!counts.has(value)) counts.set(value, 0);
        const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
        return {
          name,
          values: sorted.slice(0, 40).map(([value, count]) => ({ value, count })),
          /** Values that are not listed. */
          more: Math.max(0, sorted.length - 40),
        };
      });
    },
    /** Numbers of all items that fit, in order. */
    ids: (filter: ItemFilter, sort: { by: ItemSort; down: boolean } = { by: "order", down: false }) =>
      idsOf(filter, orderOf(sort)),
    byId: (id: number) => itemsWhere("id = ?", id)[0],
    /** Every chain once, however many files hold it, in order; what lies in the folders named is left out. */
    distinct: (filter: ItemFilter, without: ReadonlySet<string>) =>
      remember(`distinct ${JSON.stringify([filter, ...without])}`, () => {
        const { sql, bound } = condition(filter);
        const left = [...files()].filter(([, file]) => without.has(dirname(file))).map(([id]) => id);
        const rows = database.prepare(
          `SELECT min(id) AS id, key, file FROM item WHERE ${sql} AND file NOT IN (${left.join(",")})
           GROUP BY key, system, answer, moves, billed ORDER BY 1`,
        );
        return viewsOf(rows.all(...bound)).map(({ id, key, file }) => ({ id, key, file }));
      }),
    /** One item by its key, in a certain file where several have the key; undefined where there is none. */
    find(kind: ItemView["kind"], key: string, file?: string) {
      const found = itemsWhere("key = ? AND +kind = ? ORDER BY id DESC LIMIT 50", key, kind);
      return file === undefined ? found[0] : found.find((item) => item.file === file);
    },
    /** Chains that were distilled from a run. */
    chainsOf: (runKey: string) => itemsWhere("runId = ? ORDER BY id LIMIT 50", runKey),
    /** Everything that was done for a task. */
    ofTask: (taskId: string) => itemsWhere("taskId = ? ORDER BY id LIMIT 500", taskId),
    counts: () =>
      remember("counts", () => {
        const rows = database.prepare("SELECT kind, count(*) AS count FROM item GROUP BY kind").all();
        return Object.fromEntries(rows.map((row) => [row["kind"], Number(row["count"])]));
      }),
  };
}

export type ItemPage = ReturnType<ItemQueries["page"]>;

/** The values of one facet with how many items have each. */
export type FacetView = ReturnType<ItemQueries["facets"]>[number];

export type ItemQueries = ReturnType<typeof itemQueries>;

/** Words as a query of the full text: all of them, the last one as a beginning. Undefined where there are none. */
function matchOf(text: string): string | undefined {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return undefined;
  return words.map((word, place) => `"${word}"${place === words.length - 1 ? "*" : ""}`).join(" AND ");
}
