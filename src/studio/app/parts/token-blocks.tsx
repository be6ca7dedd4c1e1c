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
  const spans = useRef<TokenSpan[]>([]);
  const coloured = useRef<Figure | undefined>(undefined);
  useLayoutEffect(() => {
    // New spans have their colour before they are in the page: to change it there would cost as much again.
    spans.current = fill(root.current!, view, figure);
    coloured.current = figure;
  }, [view]);
  useLayoutEffect(() => {
    if (coloured.current === figure) return;
    coloured.current = figure;
    for (const [index, span] of spans.current.entries()) {
      const wanted = classOf(figure.shades[index]!);
      if (span.className !== wanted) span.className = wanted;
    }
  }, [view, figure]);
  useLayoutEffect(() => {
    const span = spans.current[at];
    span?.setAttribute("aria-current", "true");
    return () => span?.removeAttribute("aria-current");
  }, [view, at]);
  const move = (event: Event) => {
    const { token } = event.target as TokenSpan;
    if (token !== undefined) onMove(token);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys h, l and n do the same
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys h, l and n do the same
    <div class="token-blocks" ref={root} onClick={move} />
  );
}

/** A span that knows its token; an attribute of each would be read by nobody else. */
type TokenSpan = HTMLElement & { token?: number };

function classOf(shade: number): string {
  return shade === 0 ? "t" : shade > 0 ? `t u${shade}` : `t d${-shade}`;
}

function fill(root: HTMLElement, { pieces, owners, segments }: TokensView, { shades }: Figure): TokenSpan[] {
  const spans: TokenSpan[] = [];
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
    const span: TokenSpan = document.createElement("span");
    span.className = classOf(shades[index]!);
    span.append(visiblePiece(piece));
    span.token = index;
    spans.push(span);
    block.append(span);
  }
  root.replaceChildren(all);
  return spans;
}
