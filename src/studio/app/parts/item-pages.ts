/** The pages of a list that were asked for, and the rows in them. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ItemPage, ItemView } from "../../api/item-view.ts";
import { askJson, onEvents } from "../server.ts";

const pageRows = 100;

export interface ItemPages {
  total?: number;
  error?: string;
  row(index: number): ItemView | undefined;
  /** Asks for the pages that hold these rows. */
  want(first: number, last: number): void;
}

/** Pages of the list with this query (without offset). They are asked for again when files changed. */
export function useItemPages(query: string): ItemPages {
  const pages = useRef(new Map<number, ItemView[]>());
  const asked = useRef(new Set<number>());
  const range = useRef<[number, number]>([0, 0]);
  const most = useRef(1);
  const [state, setState] = useState<{ query: string; total?: number; error?: string; version: number }>({
    query,
    version: 0,
  });
  const load = (page: number) => {
    if (asked.current.has(page)) return;
    asked.current.add(page);
    askJson<ItemPage>(`items?${query}&offset=${page * pageRows}&limit=${pageRows}`).then(
      ({ rows, total }) => {
        pages.current.set(page, rows);
        most.current = total;
        setState((old) => ({ query, total, version: old.version + 1 }));
      },
      (error: Error) => setState((old) => ({ ...old, query, error: error.message })),
    );
  };
  const want = (first: number, last: number) => {
    range.current = [first, last];
    // Half a page before and after, so that who scrolls on finds rows and not places for them.
    const [from, to] = [Math.max(0, first - pageRows / 2), Math.min(last + pageRows / 2, most.current - 1)];
    for (let page = Math.floor(from / pageRows); page <= Math.floor(to / pageRows); page++) load(page);
  };
  useEffect(() => {
    pages.current = new Map();
    asked.current = new Set();
    load(0);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onEvents((event) => {
      if (event.type !== "file" && event.type !== "idle" && event.type !== "gone") return;
      timer ??= setTimeout(() => {
        timer = undefined;
        asked.current = new Set();
        want(...range.current);
      }, 500);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [query]);
  const current = state.query === query ? state : { version: 0 };
  return {
    total: "total" in current ? current.total : undefined,
    error: "error" in current ? current.error : undefined,
    row: (index) =>
      state.query === query ? pages.current.get(Math.floor(index / pageRows))?.[index % pageRows] : undefined,
    want,
  };
}
