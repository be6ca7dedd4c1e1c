/** The whole chain as one strip: a column for each token, as high as its figure is striking; a click goes there. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { theme } from "../theme.ts";
import type { Figure } from "./token-figures.ts";

const height = 56;

export function TokenStrip({ figure, at, onMove }: { figure: Figure; at: number; onMove: (token: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chosen = theme.value;
  useLayoutEffect(() => {
    const element = canvas.current!;
    const draw = () => paint(element, figure, at);
    // Draws at once too: an observer tells the first size.
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", draw);
    };
  }, [figure, at, chosen]);
  const tokenAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    onMove(Math.floor(((event.clientX - box.left) / box.width) * figure.shades.length));
  };
  return (
    <div class="token-strip">
      <canvas
        class="plot"
        ref={canvas}
        role="img"
        aria-label={`Every token by ${figure.name}: ${figure.says}`}
        onClick={tokenAt}
        onMouseMove={(event) => event.buttons === 1 && tokenAt(event)}
      />
    </div>
  );
}

function paint(canvas: HTMLCanvasElement, figure: Figure, at: number): void {
  const width = canvas.clientWidth;
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const [up, down, mark] = ["--up", "--down", "--ink"].map((name) => style.getPropertyValue(name));
  const column = width / figure.shades.length;
  const most = Math.min(8, Math.max(1, ...figure.strengths));
  const floor = height - 2;
  for (const [sign, colour] of [
    [1, up],
    [-1, down],
  ] as const) {
    // A probe element resolves colours that are given for light and dark.
    context.fillStyle = resolved(canvas, colour!);
    for (const [index, shade] of figure.shades.entries()) {
      if (Math.sign(shade) !== sign) continue;
      const high = Math.max(2, (Math.min(most, figure.strengths[index]!) / most) * (floor - 4));
      // Where several tokens share a pixel the most striking one covers the others.
      context.fillRect(
        column < 1 ? Math.floor(index * column) : index * column,
        floor - high,
        Math.max(column * 0.9, 0.6),
        high,
      );
    }
  }
  if (at < 0) return;
  context.fillStyle = resolved(canvas, mark!);
  context.fillRect(at * column, 0, Math.max(2, column), height);
}

function resolved(canvas: HTMLCanvasElement, colour: string): string {
  canvas.style.color = colour;
  return getComputedStyle(canvas).color;
}
