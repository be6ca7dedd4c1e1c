/**
 * One block for each segment, one span for each token. A block that is out of sight is not laid out, and holds its text as it
 * is (so that the browser's own search finds it) until it comes near: thousands of spans that nobody sees would cost most of
 * the time. Spans are made once and only their classes change with the figure; the component tree never sees them.
 */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { TokensView } from "../../api/tokens-reader.ts";
import { hueOf } from "./hues.ts";
import { classOfShade, type Figure, visiblePiece } from "./token-figures.ts";

interface Props {
  view: TokensView;
  figure: Figure;
  at: number;
  onMove: (token: number) => void;
}

/** Tokens that have their spans before the browser says what is in sight: about a screen of them. */
const atOnce = 400;

export function TokenBlocks({ view, figure, at, onMove }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const blocks = useRef<TokenBlock[]>([]);
  const colouring = useRef(figure);
  useLayoutEffect(() => {
    colouring.current = figure;
    for (const { spans, from } of blocks.current) {
      for (const [index, span] of (spans ?? []).entries()) {
        const wanted = classOfShade(figure.shades[from + index]!);
        if (span.className !== wanted) span.className = wanted;
      }
    }
  }, [figure]);
  useLayoutEffect(() => {
    blocks.current = layOut(view);
    const knowsSight = "oncontentvisibilityautostatechange" in document.documentElement;
    for (const block of blocks.current) if (block.from < atOnce || !knowsSight) fill(block, view, colouring.current);
    root.current!.replaceChildren(...blocks.current.map(({ element }) => element));
  }, [view]);
  useLayoutEffect(() => {
    const block = blocks.current.find(({ from, to }) => at >= from && at < to);
    const span = block && fill(block, view, colouring.current)[at - block.from];
    span?.setAttribute("aria-current", "true");
    return () => span?.removeAttribute("aria-current");
  }, [view, at]);
  useLayoutEffect(() => {
    const comesNear = (event: Event) => {
      const block = blocks.current.find(({ element }) => element === event.target);
      if (block && !(event as ContentVisibilityAutoStateChangeEvent).skipped) fill(block, view, colouring.current);
    };
    const own = root.current!;
    own.addEventListener("contentvisibilityautostatechange", comesNear);
    return () => own.removeEventListener("contentvisibilityautostatechange", comesNear);
  }, [view]);
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

/** A segment's tokens, from one place to before another. */
interface TokenBlock {
  element: HTMLElement;
  from: number;
  to: number;
  /** Where they were made; before that the block has one text. */
  spans?: TokenSpan[];
}

/** A span that knows its token; an attribute of each would be read by nobody else. */
type TokenSpan = HTMLElement & { token?: number };

/** The blocks with their titles and plain texts, outside of the page. */
function layOut({ pieces, owners, segments }: TokensView): TokenBlock[] {
  const blocks: TokenBlock[] = [];
  for (let from = 0, to = 0; from < owners.length; from = to) {
    const owner = owners[from]!;
    while (to < owners.length && owners[to] === owner) to++;
    const segment = segments[owner];
    const name = owner < 0 ? "prompt" : (segment?.tag ?? "end of turn");
    const element = document.createElement("section");
    element.className = `token-block hue-${hueOf(name)} by-${segment?.by ?? "prompt"}`;
    const title = document.createElement("h2");
    title.textContent = name;
    element.append(title, visiblePiece(pieces.slice(from, to).join("")));
    blocks.push({ element, from, to });
  }
  return blocks;
}

/** The block's spans, made now where they were not yet, with their colour: to change it in the page would cost as much again. */
function fill(block: TokenBlock, { pieces }: TokensView, { shades }: Figure): readonly TokenSpan[] {
  if (block.spans) return block.spans;
  const { element, from, to } = block;
  block.spans = pieces.slice(from, to).map((piece, index) => {
    const span: TokenSpan = document.createElement("span");
    span.className = classOfShade(shades[from + index]!);
    span.textContent = visiblePiece(piece);
    span.token = from + index;
    return span;
  });
  element.replaceChildren(element.firstElementChild!, ...block.spans);
  return block.spans;
}
