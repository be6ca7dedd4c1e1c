/** A metrics file as a curve of characters, for terminals. Braille dots give each character cell 2 x 4 points. */
import type { Metrics } from "../train/run-folder.ts";

/** Draws one figure over the steps, smoothed over a window, with its range at the left and the steps below. */
export function plotMetrics(metrics: readonly Metrics[], figure: string, size = { width: 72, height: 12 }): string {
  const points = metrics
    .map((line) => ({ step: line.step, value: line[figure] }))
    .filter(
      (point): point is { step: number; value: number } =>
        typeof point.value === "number" && Number.isFinite(point.value),
    );
  if (points.length === 0) return `no figure "${figure}"; there are: ${figureNames(metrics).join(", ")}`;
  const [columns, rows] = [size.width * 2, size.height * 4];
  const firstStep = points[0]!.step;
  const lastStep = Math.max(points.at(-1)!.step, firstStep + 1);
  const bins: number[][] = Array.from({ length: columns }, () => []);
  for (const { step, value } of points) {
    bins[Math.min(columns - 1, Math.floor(((step - firstStep) / (lastStep - firstStep)) * columns))]!.push(value);
  }
  const means = bins.map((bin) => (bin.length === 0 ? null : bin.reduce((sum, value) => sum + value, 0) / bin.length));
  const known = means.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const cells = Array.from({ length: size.height }, () => new Uint8Array(size.width));
  const dots = [
    [0x01, 0x08],
    [0x02, 0x10],
    [0x04, 0x20],
    [0x40, 0x80],
  ] as const;
  means.forEach((value, column) => {
    if (value === null) return;
    const row = Math.round((1 - (high === low ? 0.5 : (value - low) / (high - low))) * (rows - 1));
    cells[Math.floor(row / 4)]![Math.floor(column / 2)]! |= dots[row % 4]![column % 2]!;
  });
  const label = (value: number) => value.toPrecision(4).padStart(10);
  const lines = cells.map((row, at) => {
    const side = at === 0 ? label(high) : at === size.height - 1 ? label(low) : " ".repeat(10);
    return `${side} ┤${[...row].map((cell) => String.fromCharCode(0x2800 + cell)).join("")}`;
  });
  const last = points.at(-1)!;
  return [
    `${figure} (last ${last.value.toPrecision(4)} at step ${last.step})`,
    ...lines,
    `${" ".repeat(11)}└ step ${firstStep} to ${lastStep}`,
  ].join("\n");
}

/** Every figure that a metrics file holds. */
export function figureNames(metrics: readonly Metrics[]): string[] {
  const names = new Set<string>();
  for (const line of metrics)
    for (const [name, value] of Object.entries(line)) if (typeof value === "number") names.add(name);
  names.delete("step");
  return [...names];
}

/** The newest values as one line of bars, for a progress line: `▇▆▅▃▂▁`. Older values are averaged into fewer bars. */
export function sparkline(values: readonly number[], width = 16): string {
  const size = Math.max(1, Math.ceil(values.length / width));
  const means: number[] = [];
  for (let at = 0; at < values.length; at += size) {
    const part = values.slice(at, at + size);
    means.push(part.reduce((sum, value) => sum + value, 0) / part.length);
  }
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const bars = "▁▂▃▄▅▆▇█";
  return means.map((value) => bars[high === low ? 0 : Math.round(((value - low) / (high - low)) * 7)]).join("");
}
