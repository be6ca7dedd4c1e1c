/** A metrics file as curves of characters, for terminals. */
import type { Metrics } from "../train/run-folder.ts";

/** Every figure over the steps, a row each: its name, its first value, its curve and its last value. */
export function plotMetrics(metrics: readonly Metrics[], width = 40): string[][] {
  const names = new Set(metrics.flatMap(Object.keys));
  return [...names].flatMap((name) => {
    const values = metrics.map((line) => line[name]).filter((value) => Number.isFinite(value)) as number[];
    if (name === "step" || values.length === 0) return [];
    return [[name, values[0]!.toPrecision(4), sparkline(values, width), values.at(-1)!.toPrecision(4)]];
  });
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
