/**
 * A list of any length: only the rows in sight are in the page, and only pages around them are asked for. Rows that are on
 * their way are drawn as empty ones, so that scrolling never waits.
 */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  total: number;
  rowHeight: number;
  /** The row that is selected and kept in sight; -1 for none. */
  active: number;
  label: string;
  row: (index: number) => ComponentChildren;
  /** Told which rows are in sight. */
  onRange?: (first: number, last: number) => void;
}

export function VirtualList({ total, rowHeight, active, label, row, onRange }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [virtualizer] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLDivElement>({
        count: total,
        getScrollElement: () => root.current,
        estimateSize: () => rowHeight,
        overscan: 6,
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: () => redraw((number) => number + 1),
      }),
  );
  virtualizer.setOptions({ ...virtualizer.options, count: total });
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => {
    if (active >= 0 && active < total) virtualizer.scrollToIndex(active, { align: "auto" });
  }, [active]);
  // A short list takes no more room than its rows; a long one as much as its style lets it.
  const height = `${total * rowHeight + 2}px`;
  const shown = virtualizer.getVirtualItems();
  const [first, last] = [shown[0]?.index ?? 0, shown.at(-1)?.index ?? 0];
  useLayoutEffect(() => onRange?.(first, last), [first, last]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="virtual" ref={root} tabIndex={0} aria-label={label} style={{ height }}>
      <div class="virtual-rows" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {shown.map(({ index, start }) => (
          <div
            key={index}
            class={`virtual-row${index === active ? " active" : ""}`}
            style={{ transform: `translateY(${start}px)`, height: `${rowHeight}px` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </section>
  );
}
