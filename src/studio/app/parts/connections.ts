/** Lines between elements of the page, drawn again when the elements move. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** Lines as `draw` gives them; again when what is watched beside the root changes its size, or when `deps` change. */
export function useConnections<T>(
  root: RefObject<HTMLElement | null>,
  watched: string,
  draw: (root: HTMLElement) => T[],
  deps: readonly unknown[],
): readonly T[] {
  const [lines, setLines] = useState<T[]>([]);
  useLayoutEffect(() => {
    const element = root.current!;
    const again = () => setLines(draw(element));
    again();
    const observer = new ResizeObserver(again);
    for (const one of element.parentElement!.querySelectorAll(watched)) observer.observe(one);
    return () => observer.disconnect();
  }, deps);
  return lines;
}

/** A curve from one point to another that begins and ends level. */
export function bend(x1: number, y1: number, x2: number, y2: number): string {
  const reach = Math.max(20, (x2 - x1) / 2);
  return `M ${x1} ${y1} C ${x1 + reach} ${y1} ${x2 - reach} ${y2} ${x2} ${y2}`;
}
