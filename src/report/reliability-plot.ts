/** A reliability plot: of the answers with one score, how many were right, against the chance that the score means. */
import type { CheckCalibration } from "./figures.ts";
import { percent } from "./format-figures.ts";
import { escapeHtml } from "./page.ts";
import { colour, svg, text } from "./svg-plots.ts";

/** One line of points for each system; on the diagonal scores mean what they say. Larger points hold more answers. */
export function reliabilityPlot(
  systems: readonly { name: string; calibration: CheckCalibration; colour: number }[],
): string {
  const box = { left: 56, right: 356, top: 16, bottom: 316 };
  const x = (chance: number) => box.left + chance * (box.right - box.left);
  const y = (share: number) => box.bottom - share * (box.bottom - box.top);
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (at) =>
      `<line x1="${box.left}" x2="${box.right}" y1="${y(at)}" y2="${y(at)}" class="grid"/>${text(box.left - 8, y(at) + 4, percent(at, 0), "end")}${text(x(at), box.bottom + 18, percent(at, 0))}`,
  );
  const diagonal = `<line x1="${x(0)}" y1="${y(0)}" x2="${x(1)}" y2="${y(1)}" class="grid" stroke-dasharray="4 4"/>`;
  const marks = systems.flatMap(({ name, calibration, colour: index }) => {
    const points = calibration.groups.map((group) => ({ ...group, share: group.right / group.runs }));
    const line = points.map(({ chance, share }) => `${x(chance).toFixed(1)},${y(share).toFixed(1)}`).join(" ");
    const circles = points.map(({ score, chance, share, runs, right }) => {
      const title = escapeHtml(`${name}, score ${score}: ${right} of ${runs} right (${percent(share)})`);
      const radius = (4 + 10 * Math.sqrt(runs / calibration.runs)).toFixed(1);
      return `<circle cx="${x(chance).toFixed(1)}" cy="${y(share).toFixed(1)}" r="${radius}" fill="${colour(index)}" fill-opacity=".6"><title>${title}</title></circle>`;
    });
    return [`<polyline points="${line}" fill="none" stroke="${colour(index)}"/>`, ...circles];
  });
  const labels = text(
    (box.left + box.right) / 2,
    box.bottom + 38,
    "chance that the score stands for (1 = 0 %, 4 = 100 %)",
  );
  return svg(360, "share of right answers by score of the check", [...grid, diagonal, ...marks, labels].join(""));
}
