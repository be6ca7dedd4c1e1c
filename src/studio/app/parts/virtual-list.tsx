/** A list of any length with rows of one height. Only the rows in sight, and a few around them, are in the page. */
import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ItemView } from "../../api/query-items.ts";
import type { ItemPages } from "./item-pages.ts";
import { Missing } from "./states.tsx";

interface Props {
  total: number;
  rowHeight: number;
  /** The row that is selected and kept in sight; -1 for none. */
  active: number;
  label: string;
  row: (index: number) => ComponentChildren;
  onRange?: (first: number, last: number) => void;
}

/** Rows above and below those in sight. */
const around = 6;

export function VirtualList({ total, rowHeight, active, label, row, onRange }: Props) {
  const root = useRef<HTMLElement>(null);
  const [sight, setSight] = useState({ first: 0, size: 0 });
  const size = Math.min(total, sight.size);
  const first = Math.max(0, Math.min(sight.first, total - size));
  const look = () => {
    const { scrollTop, clientHeight } = root.current!;
    const next = {
      first: Math.max(0, Math.floor(scrollTop / rowHeight) - around),
      size: Math.ceil(clientHeight / rowHeight) + 1 + 2 * around,
    };
    setSight((old) => (old.first === next.first && old.size === next.size ? old : next));
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(look);
    observer.observe(root.current!);
    return () => observer.disconnect();
  }, [rowHeight]);
  useLayoutEffect(() => {
    if (!(active >= 0 && active < total)) return;
    const element = root.current!;
    const [top, height] = [active * rowHeight, element.clientHeight];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + height) element.scrollTop = top + rowHeight - height;
    look();
  }, [active]);
  useLayoutEffect(() => {
    if (size > 0) onRange?.(first, first + size - 1);
  }, [first, size]);
  // A short list takes no more room than its rows; a long one as much as its style lets it.
  const height = `${total * rowHeight + 2}px`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="virtual" ref={root} tabIndex={0} aria-label={label} style={{ height }} onScroll={look}>
      <div class="virtual-rows" style={{ height: `${total * rowHeight}px` }}>
        {Array.from({ length: size }, (_, place) => first + place).map((index) => (
          <div
            key={index}
            class={index === active ? "virtual-row active" : "virtual-row"}
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </section>
  );
}

interface ItemListProps extends Omit<Props, "total" | "row" | "onRange"> {
  pages: ItemPages;
  /** Draws an item; from the item alone, because the same item is drawn once. */
  row: (item: ItemView) => VNode;
}

/** A list whose rows come by the page. A row that was drawn costs nothing while the list scrolls. */
export function ItemList({ pages, row, ...list }: ItemListProps) {
  const drawn = useRef(new WeakMap<ItemView, VNode>());
  const { total, error } = pages;
  if (error || total === undefined) return <Missing of={{ error, loading: true }} what="the list" />;
  const rowAt = (index: number) => {
    const item = pages.row(index);
    if (!item) return <span class="row-waits" />;
    let node = drawn.current.get(item);
    if (!node) drawn.current.set(item, (node = row(item)));
    return node;
  };
  return <VirtualList {...list} total={total} row={rowAt} onRange={pages.want} />;
}
