/** Chains from stage to stage: a band that narrows, with what was dropped branching off. */
import type { DistillReport } from "./distill-report.ts";
import { escapeHtml } from "./page.ts";
import { clip } from "./svg-plots.ts";

/** The picture as SVG. */
export function flowPlot({ stages, records }: Pick<DistillReport, "stages" | "records">): string {
  const column = 104;
  const height = 150;
  const top = 26;
  const thick = (count: number) => (records === 0 ? 0 : (height * count) / records);
  const bottom = top + height + (stages.some(({ dropped }) => dropped > 0) ? 46 : -34);
  const parts: string[] = [];
  stages.forEach((stage, place) => {
    const x = place * column;
    const left = stage.entered - stage.dropped;
    const entered = thick(stage.entered);
    const stays = thick(left);
    parts.push(
      `<rect x="${x}" y="${top}" width="${column}" height="${stays.toFixed(1)}" fill="var(--c0)" fill-opacity=".55"/>`,
    );
    parts.push(`<text x="${x + 4}" y="${top - 10}">${escapeHtml(stage.name)}</text>`);
    parts.push(`<text x="${x + column - 6}" y="${(top + stays / 2 + 4).toFixed(1)}" text-anchor="end">${left}</text>`);
    if (stage.dropped === 0) return;
    // The lower part of the band bends down: what was dropped.
    const width = Math.max(1.5, entered - stays);
    const from = top + stays + width / 2;
    const middle = x + Math.max(30, width / 2 + 6);
    const reasons = Object.entries(stage.reasons).map(([reason, count]) => `${reason}: ${count}`);
    parts.push(
      `<path d="M ${x} ${from.toFixed(1)} C ${middle} ${from.toFixed(1)} ${middle} ${from.toFixed(1)} ${middle} ${bottom}" fill="none" stroke="var(--c1)" stroke-opacity=".6" stroke-width="${width.toFixed(1)}"><title>${escapeHtml(reasons.join("\n"))}</title></path>`,
    );
    parts.push(`<text x="${middle}" y="${bottom + 16}" text-anchor="middle">−${stage.dropped}</text>`);
    parts.push(
      `<text x="${middle}" y="${bottom + 31}" text-anchor="middle" font-size="10">${escapeHtml(clip(Object.keys(stage.reasons)[0] ?? "", 17))}</text>`,
    );
  });
  return `<svg viewBox="0 0 ${stages.length * column} ${bottom + 40}" role="img" aria-label="Chains from stage to stage">${parts.join("")}</svg>`;
}
