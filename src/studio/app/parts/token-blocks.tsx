/**
 * One span for each token, one block for each segment; blocks that are out of sight are not laid out. The spans are made
 * once and only their classes change with the figure, because thousands of them would be slow through the component tree.
 */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { TokensView } from "../../api/tokens-reader.ts";
import { hueOf } from "./hues.ts";
import { type Figure, visiblePiece } from "./token-figures.ts";

interface Props {
  view: TokensView;
  figure: Figure;
  at: number;
  onMove: (token: number) => void;
}

export function TokenBlocks({ view, figure, at, onMove }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const spans = useRef<HTMLElement[]>([]);
  useLayoutEffect(() => {
    spans.current = fill(root.current!, view);
  }, [view]);
  useLayoutEffect(() => {
    for (const [index, span] of spans.current.entries()) {
      const shade = figure.shades[index]!;
      const wanted = shade === 0 ? "t" : shade > 0 ? `t u${shade}` : `t d${-shade}`;
      if (span.className !== wanted) span.className = wanted;
    }
  }, [view, figure]);
  useLayoutEffect(() => {
    const span = spans.current[at];
    span?.setAttribute("aria-current", "true");
    return () => span?.removeAttribute("aria-current");
  }, [view, at]);
  const move = (event: Event) => {
    const token = (event.target as HTMLElement).dataset["token"];
    if (token !== undefined) onMove(Number(token));
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys h, l and n do the same
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys h, l and n do the same
    <div class="token-blocks" ref={root} onClick={move} />
  );
}

function fill(root: HTMLElement, { pieces, owners, segments }: TokensView): HTMLElement[] {
  const spans: HTMLElement[] = [];
  const all = document.createDocumentFragment();
  let block: HTMLElement | undefined;
  let owner = Number.NaN;
  for (const [index, piece] of pieces.entries()) {
    if (owners[index] !== owner || !block) {
      owner = owners[index]!;
      const segment = segments[owner];
      const name = owner < 0 ? "prompt" : (segment?.tag ?? "end of turn");
      block = document.createElement("section");
      block.className = `token-block hue-${hueOf(name)} by-${segment?.by ?? "prompt"}`;
      const title = document.createElement("h2");
      title.textContent = name;
      block.append(title);
      all.append(block);
    }
    const span = document.createElement("span");
    span.textContent = visiblePiece(piece);
    span.dataset["token"] = String(index);
    spans.push(span);
    block.append(span);
  }
  root.replaceChildren(all);
  return spans;
}
