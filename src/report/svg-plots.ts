/**
 * Three plots as SVG text: points with intervals, grouped bars, stacked bars. Colours are CSS variables (`--c0` …), so
 * one file serves light and dark; every mark carries a title, so its figure can be read exactly.
 */
import type { Estimate } from "./figures.ts";
import { count, percent, percentWithInterval } from "./format-figures.ts";
import { escapeHtml, systemColours } from "./page.ts";

const width = 720;
const longestName = 36;

/** The colour of the i-th system; from the thirteenth on they repeat, and names tell. */
export function colour(index: number): string {
  return `var(--c${index % systemColours.length})`;
}

/** A picture of the page's width. */
export function svg(height: number, label: string, body: string): string {
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(label)}" preserveAspectRatio="xMidYMid meet">${body}</svg>`;
}

/** A label in a picture. */
export function text(x: number, y: number, content: string, anchor = "middle", kind = "axis"): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" class="${kind}">${escapeHtml(content)}</text>`;
}

/** Round steps for an axis up to `max`. */
export function axisSteps(max: number, wanted = 5): number[] {
  if (!(max > 0)) return [0, 1];
  const raw = max / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, i) => i * step);
}

export interface Point {
  name: string;
  x: number;
  y: Estimate;
  colour: number;
}

/** Success against tokens: up and to the left is better. */
export function scatterPlot(points: readonly Point[], xLabel: string): string {
  const height = 340;
  const box = { left: 56, right: width - 24, top: 20, bottom: height - 48 };
  const xs = axisSteps(Math.max(...points.map((point) => point.x), 1) * 1.08);
  const xMax = xs.at(-1)!;
  const x = (value: number) => box.left + (value / xMax) * (box.right - box.left);
  const y = (value: number) => box.bottom - value * (box.bottom - box.top);
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (at) =>
      `<line x1="${box.left}" x2="${box.right}" y1="${y(at)}" y2="${y(at)}" class="grid"/>${text(box.left - 8, y(at) + 4, percent(at, 0), "end")}`,
  );
  const ticks = xs.map((at) => text(x(at), box.bottom + 18, count(at)));
  const taken: Box[] = points.map((point) => ({ left: x(point.x) - 7, right: x(point.x) + 7, y: y(point.y.value) }));
  const marks = points.map((point) => {
    const [cx, cy] = [x(point.x), y(point.y.value)];
    const right = cx < width - 200;
    const labelY = freeHeight(point.name, cx, cy, right, taken);
    return `<g fill="${colour(point.colour)}" stroke="${colour(point.colour)}"><title>${escapeHtml(`${point.name}: ${percentWithInterval(point.y)} at ${count(point.x)}`)}</title><line x1="${cx.toFixed(1)}" x2="${cx.toFixed(1)}" y1="${y(point.y.low).toFixed(1)}" y2="${y(point.y.high).toFixed(1)}" stroke-width="2"/><circle cx="${cx.toFixed(1)}" cy="${cy.toFixed(1)}" r="6"/></g><g class="own" style="--own:${colour(point.colour)}">${text(cx + (right ? 12 : -12), labelY + 4, point.name, right ? "start" : "end", "label")}</g>`;
  });
  const label = text((box.left + box.right) / 2, height - 8, xLabel);
  return svg(height, `success against ${xLabel}`, [...grid, ...ticks, label, ...marks].join(""));
}

interface Box {
  left: number;
  right: number;
  y: number;
}

/** The height nearest to the point at which its label covers no other label and no other point. */
function freeHeight(name: string, cx: number, cy: number, toTheRight: boolean, taken: Box[]): number {
  const length = name.length * 7.2;
  const [left, right] = toTheRight ? [cx + 10, cx + 14 + length] : [cx - 14 - length, cx - 10];
  const isTaken = (at: number) =>
    taken.some((box) => box.right >= left && box.left <= right && Math.abs(box.y - at) < 14);
  const free = (at: number) => at >= 10 && !isTaken(at); // above that it would be outside of the picture
  const steps = Array.from({ length: 141 }, (_, i) => (i % 2 ? -1 : 1) * Math.ceil(i / 2) * 4);
  const at = cy + (steps.find((step) => free(cy + step)) ?? 0);
  taken.push({ left, right, y: at });
  return at;
}

export interface Bar {
  group: string;
  series: string;
  value: Estimate;
  colour: number;
  note?: string;
}

/** Success per group, one bar for each system, with intervals. */
export function groupedBars(bars: readonly Bar[]): string {
  const groups = [...new Set(bars.map((bar) => bar.group))];
  const series = [...new Set(bars.map((bar) => bar.series))];
  const barHeight = 16;
  const rowHeight = series.length * (barHeight + 3) + 16;
  const left = roomFor(groups);
  const x = (value: number) => left + value * (width - left - 90);
  const height = groups.length * rowHeight + 30;
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (at) =>
      `<line x1="${x(at)}" x2="${x(at)}" y1="4" y2="${height - 24}" class="grid"/>${text(x(at), height - 8, percent(at, 0))}`,
  );
  const marks = bars.map((bar) => {
    const top = groups.indexOf(bar.group) * rowHeight + series.indexOf(bar.series) * (barHeight + 3) + 8;
    const middle = (top + barHeight / 2).toFixed(1);
    const { value, low, high } = bar.value;
    return `<g><title>${escapeHtml(`${bar.group}, ${bar.series}: ${percentWithInterval(bar.value)}${bar.note ? `, ${bar.note}` : ""}`)}</title><rect x="${left}" y="${top}" width="${Math.max(1, x(value) - left).toFixed(1)}" height="${barHeight}" rx="2" fill="${colour(bar.colour)}"/><line x1="${x(low).toFixed(1)}" x2="${x(high).toFixed(1)}" y1="${middle}" y2="${middle}" class="interval"/></g>${text(Math.max(x(high), x(value)) + 6, top + barHeight - 4, percent(value, 0), "start", "label")}`;
  });
  const names = groups.map((group, i) => text(left - 10, i * rowHeight + rowHeight / 2 + 2, clip(group), "end"));
  return svg(height, "success by group", [...grid, ...names, ...marks].join(""));
}

export interface Stack {
  name: string;
  parts: Record<string, number>;
}

/** One bar per system, made of parts: where the tokens go. */
export function stackedBars(stacks: readonly Stack[], unit: string): string {
  const names = [...new Set(stacks.flatMap((stack) => Object.keys(stack.parts)))].sort();
  const totals = stacks.map((stack) => Object.values(stack.parts).reduce((sum, part) => sum + part, 0));
  const max = Math.max(...totals, 1);
  const [left, barHeight, rowHeight] = [roomFor(stacks.map(({ name }) => name)), 26, 40];
  const legendTop = stacks.length * rowHeight + 22;
  const perLine = 5;
  const height = legendTop + Math.ceil(names.length / perLine) * 20 + 4;
  const x = (value: number) => left + (value / max) * (width - left - 90);
  const shade = (part: string) => `hsl(${(names.indexOf(part) * 137 + 210) % 360} 55% 52%)`;
  const bars = stacks.map((stack, row) => {
    let from = 0;
    const top = row * rowHeight + 8;
    const pieces = names.map((part) => {
      const value = stack.parts[part] ?? 0;
      if (value <= 0) return "";
      const piece = `<rect x="${x(from).toFixed(1)}" y="${top}" width="${Math.max(0.5, x(from + value) - x(from)).toFixed(1)}" height="${barHeight}" fill="${shade(part)}"><title>${escapeHtml(`${stack.name}, ${part}: ${count(value)} ${unit} (${percent(value / totals[row]!, 0)})`)}</title></rect>`;
      from += value;
      return piece;
    });
    return `${text(left - 10, top + 17, clip(stack.name), "end", "label")}${pieces.join("")}${text(x(totals[row]!) + 6, top + 17, count(totals[row]!), "start", "label")}`;
  });
  const legend = names.map((part, i) => {
    const [column, line] = [i % perLine, Math.floor(i / perLine)];
    const at = 8 + column * ((width - 16) / perLine);
    return `<rect x="${at}" y="${legendTop + line * 20 - 10}" width="11" height="11" rx="2" fill="${shade(part)}"/>${text(at + 17, legendTop + line * 20, clip(part, 18), "start")}`;
  });
  return svg(height, `${unit} by part`, [...bars, ...legend].join(""));
}

/** At most so many characters, the middle left out: names differ at their ends. */
export function clip(content: string, length = longestName): string {
  if (content.length <= length) return content;
  const end = Math.floor((length - 1) / 2);
  return `${content.slice(0, length - 1 - end)}…${content.slice(content.length - end)}`;
}

/** Width for labels left of a picture. */
function roomFor(names: readonly string[]): number {
  return Math.max(90, 24 + 6.8 * Math.max(...names.map((name) => clip(name).length)));
}
