/** The pages of a list that were asked for, and the rows in them. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ItemPage, ItemView } from "../../api/query-items.ts";
import { askJson, onEvents, soon } from "../server.ts";

const pageRows = 100;

/** Pages that `load` gets; `onChange` is told when one came. Until then the rows of before stay. */
export function itemPages(
  load: (offset: number, limit: number) => Promise<Pick<ItemPage, "rows" | "total">>,
  onChange: () => void,
) {
  const pages = new Map<number, ItemView[]>();
  const asked = new Set<number>();
  let wanted: [first: number, last: number] = [0, 0];
  let total: number | undefined;
  let error: string | undefined;
  const loadPage = async (page: number) => {
    if (asked.has(page)) return;
    asked.add(page);
    try {
      const found = await load(page * pageRows, pageRows);
      pages.set(page, found.rows);
      [total, error] = [found.total, undefined];
    } catch (reason) {
      error = (reason as Error).message;
    }
    onChange();
  };
  const want = (first: number, last: number) => {
    wanted = [first, last];
    // Half a page before and after, so that who scrolls on finds rows and not places for them.
    const [from, to] = [Math.max(0, first - pageRows / 2), Math.min(last + pageRows / 2, Math.max(1, total ?? 1) - 1)];
    for (let page = Math.floor(from / pageRows); page <= Math.floor(to / pageRows); page++) void loadPage(page);
  };
  return {
    get total() {
      return total;
    },
    get error() {
      return error;
    },
    row: (index: number) => pages.get(Math.floor(index / pageRows))?.[index % pageRows],
    want,
    /** Asks again for what was wanted last. */
    refresh() {
      asked.clear();
      want(...wanted);
    },
  };
}

/** The pages of a list so far. */
export type ItemPages = ReturnType<typeof itemPages>;

/** Pages of the list with this query (without offset). They are asked for again when files changed. */
export function useItemPages(query: string): ItemPages {
  const [, redraw] = useState(0);
  const pages = useMemo(() => {
    const load = (offset: number, limit: number) => askJson<ItemPage>(`items?${query}&offset=${offset}&limit=${limit}`);
    return itemPages(load, () => redraw((drawn) => drawn + 1));
  }, [query]);
  useEffect(() => {
    pages.want(0, 0);
    const later = soon(pages.refresh, 500);
    const stop = onEvents(({ type }) => (type === "file" || type === "idle" || type === "gone") && later.ask());
    return () => {
      later.forget();
      stop();
    };
  }, [pages]);
  return pages;
}
