/**
 * Where a command's words go. Results on stdout; notes and progress on stderr, so that `coa … | jq` always works.
 * Progress is one line that is updated on a terminal, and an occasional plain line elsewhere. Nothing else of this program
 * writes to a terminal, and no control character of a text passes.
 */
import { createInterface } from "node:readline/promises";
import { styleText } from "node:util";
import { steadyNow } from "../base/work/steady-clock.ts";
import type { OnProgress } from "../core/events.ts";
import { printable } from "../core/printable.ts";
import type { Metrics } from "../train/run-folder.ts";

type Style = Parameters<typeof styleText>[0];

export interface Output {
  print(text: string): void;
  /** A piece of a line, for text that appears as it is written. */
  write(text: string): void;
  json(value: unknown): void;
  /** A sentence for the person, on stderr. */
  note(text: string): void;
  progress: OnProgress;
  /** Ends the line that is updated, if there is one. */
  endProgress(): void;
  /** Colours text where stdout is a terminal. */
  style(style: Style, text: string): string;
  readonly isTTY: boolean;
  readonly width: number;
}

type Stream = { write(text: string): unknown; isTTY?: boolean; columns?: number };

/** Writes to the process's streams (or a test's). */
export function createOutput(
  { stdout, stderr }: Record<"stdout" | "stderr", Stream> = process,
  now: () => number = steadyNow,
): Output {
  const forced = !["", "0", undefined].includes(process.env["FORCE_COLOR"]);
  const coloured = (forced || (stdout.isTTY ?? false)) && process.env["NO_COLOR"] === undefined;
  let line = "";
  /** Work under way by name; some of it is side by side. */
  const stages = new Map<string, { total: number | undefined; from: number; startedAt: number; plainAt: number }>();

  function clear(): void {
    if (line !== "" && stderr.isTTY) stderr.write(`\r${" ".repeat(line.length)}\r`);
    line = "";
  }

  return {
    isTTY: stdout.isTTY ?? false,
    width: stdout.columns ?? 100,
    print(text) {
      clear();
      stdout.write(`${printable(text, coloured)}\n`);
    },
    write(text) {
      clear();
      stdout.write(printable(text, coloured));
    },
    json(value) {
      clear();
      stdout.write(`${printable(JSON.stringify(value))}\n`);
    },
    note(text) {
      clear();
      stderr.write(`${printable(text, coloured)}\n`);
    },
    progress(event) {
      let known = stages.get(event.stage);
      // The same name with another amount of work, or less of it done, is a new round.
      if (!known || known.total !== event.total || event.done < known.from) {
        known = { total: event.total, from: event.done, startedAt: now(), plainAt: Number.NEGATIVE_INFINITY };
        stages.set(event.stage, known);
      }
      const text = printable(progressLine(event, now() - known.startedAt, known.from));
      if (stderr.isTTY) {
        const cut = text.slice(0, (stderr.columns ?? 100) - 1);
        stderr.write(`\r${cut.padEnd(line.length)}`);
        line = cut;
      } else if (now() - known.plainAt > 15_000) {
        known.plainAt = now();
        stderr.write(`${text}\n`);
      }
    },
    endProgress() {
      clear();
    },
    style: (style, text) => (coloured ? styleText(style, text, { validateStream: false }) : text),
  };
}

/** Asks a question that is answered by yes or no, on stderr. */
export async function confirmed(question: string, byDefault: boolean): Promise<boolean> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await reader.question(`${question} ${byDefault ? "[Y/n]" : "[y/N]"} `);
    return byDefault ? !/^n/i.test(answer) : /^y/i.test(answer);
  } finally {
    reader.close();
  }
}

/** One line: bar, count, figures, time left; `from` was done before the time began. */
export function progressLine(event: Parameters<OnProgress>[0], elapsedMs: number, from = 0): string {
  const { stage, done, total, figures } = event;
  const parts = [stage];
  if (total !== undefined && total > 0) {
    const share = Math.min(1, done / total);
    const filled = Math.round(share * 20);
    parts.push(`${"█".repeat(filled)}${"░".repeat(20 - filled)}`, `${done}/${total}`);
  } else parts.push(String(done));
  for (const [name, value] of Object.entries(figures ?? {})) parts.push(`${name} ${formatFigure(value)}`);
  if (total !== undefined && done > from && done < total && elapsedMs > 1000) {
    parts.push(`${duration((elapsedMs / (done - from)) * (total - done))} left`);
  }
  return parts.join("  ");
}

function formatFigure(value: number | string | readonly number[]): string {
  if (typeof value === "object") return sparkline(value);
  if (typeof value === "string" || Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** A time span as people say it: `45 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** A size as people say it: `12 kB`, `3.4 MB`, `1.2 GB`. */
export function megabytes(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1000)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** Columns that line up, for terminals. */
export function table(rows: readonly (readonly string[])[], align: readonly ("left" | "right")[] = []): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          align[column] === "right" ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

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
