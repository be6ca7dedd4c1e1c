/** Figures as people read them. */
import type { Estimate } from "./figures.ts";

/** `63.0 %`. */
export function percent(share: number, digits = 1): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(digits)} %` : "–";
}

/** `63.0 % [58.1, 67.7]`. */
export function percentWithInterval({ value, low, high }: Estimate): string {
  return `${percent(value)} [${(low * 100).toFixed(1)}, ${(high * 100).toFixed(1)}]`;
}

/** `+1.25`, `−0.60`. */
export function signed(value: number, digits = 2): string {
  return `${value <= -0.5 * 10 ** -digits ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
}

/** `−0.603`, `0.000`: never a zero with a sign. */
export function decimal(value: number, digits: number): string {
  const size = Math.abs(value).toFixed(digits);
  return value < 0 && Number(size) !== 0 ? `−${size}` : size;
}

/** `24.0k`, `156k`, `1.2M`. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 999_500) return `${significant(value / 1e6)}M`;
  if (size >= 1000) return `${significant(value / 1000)}k`;
  return size >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

const significant = (value: number): string => value.toFixed(Math.abs(value) >= 100 ? 0 : 1);

/** `$0.0123`, `$1.20`. */
export function money(value: number | null | undefined): string {
  if (value === 0) return "$0";
  if (!value || !Number.isFinite(value)) return "–";
  return value >= 1 ? `$${value.toFixed(2)}` : `$${value.toPrecision(2)}`;
}

/** Money that was spent; a dash for zero, because nothing is counted where no price was given. */
export const moneySpent = (value: number | null | undefined): string => money(value === 0 ? undefined : value);

/** `850 ms`, `12.3 s`, `4.5 min`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** `p = 0.031`, `p < 0.001`. */
export function pValue(value: number): string {
  return value < 0.001 ? "p < 0.001" : `p = ${value.toFixed(3)}`;
}
