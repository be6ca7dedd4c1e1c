/** What a cascade promises and costs, in a sentence, as text and as a page with the curve of success against cost. */
import { count, decimal, moneySpent, percent, percentWithInterval } from "../report/format-figures.ts";
import { htmlPage, htmlTable } from "../report/page.ts";
import { axisSteps, colour, svg, text } from "../report/svg-plots.ts";
import type { Cascade, GroupLoss } from "./cascade.ts";

const points = (value: number) => `${decimal(value * 100, 1)} ${Math.abs(value - 0.01) < 1e-9 ? "point" : "points"}`;

/** `with 95 % confidence at most 1.0 point below the team; 11 % of questions go to the team; 84 % fewer tokens`. */
export function cascadeSentence({ promise, basis, figures }: Cascade): string {
  const { cost, all } = figures;
  const fewer = 1 - cost.cascade.billedTokens / cost.team.billedTokens;
  const below =
    basis === "graded"
      ? `at most ${points(promise.maxLoss)} below the team`
      : `different from the team in at most ${percent(promise.maxLoss)} of answers (agreement: no right answers were known)`;
  const tokens = fewer >= 0 ? `${percent(fewer, 0)} fewer tokens` : `${percent(-fewer, 0)} more tokens`;
  return `with ${percent(promise.confidence, 0)} confidence ${below}; ${percent(all.escalated, 0)} of questions go to the team; ${tokens}`;
}

function rows(cascade: Cascade): string[][] {
  const { success, cost, all } = cascade.figures;
  const line = (name: string, right: number, { billedTokens, computedTokens, costUsd }: Cascade["figures"]["cost"]["team"]) => // biome-ignore format: one signature
    [name, percent(right), count(billedTokens), count(computedTokens), moneySpent(costUsd), count(right > 0 ? billedTokens / right : undefined)]; // biome-ignore format: one row
  return [
    ["", cascade.basis === "graded" ? "right" : "agrees", "billed", "computed", "dollars", "billed per success"],
    line("team", success.team, cost.team),
    line("model alone", success.model, cost.model),
    line(`cascade, ${percent(all.escalated)} to the team`, success.cascade, cost.cascade),
  ];
}

function groupRows(cascade: Cascade): string[][] {
  const row = (name: string, { tasks, escalated, loss }: GroupLoss) =>
    [name, String(tasks), percent(escalated), `${decimal(loss.value * 100, 1)} [${decimal(loss.low * 100, 1)}, ${decimal(loss.high * 100, 1)}]`]; // biome-ignore format: one row
  const { all, families, kinds } = cascade.figures;
  const named = Object.keys(families).length > 1 ? families : kinds;
  return [
    ["family", "tasks", "to the team", "loss in points"],
    row("all", all),
    ...Object.entries(named).map(([name, group]) => row(name, group)),
  ];
}

/** The result as a terminal shows it; `table` lays rows out. */
export function cascadeText(cascade: Cascade, table: (rows: readonly (readonly string[])[]) => string): string {
  const { figures, test, calibration, promise } = cascade;
  const spent =
    calibration.level === 1
      ? ""
      : `\nearlier fits or rounds used the rest of the confidence: tested at ${percent(1 - (1 - promise.confidence) * calibration.level, 2)}`;
  return [
    cascadeSentence(cascade),
    `for tasks like the ${figures.calibrationTasks} it was calibrated on (score fitted on ${figures.fitTasks} others, area under the curve ${figures.auc?.toFixed(3) ?? "–"}; ${test === "harm" ? "harms counted" : "gains counted against harms"})${spent}`,
    "",
    table(rows(cascade)),
    "",
    table(groupRows(cascade)),
  ].join("\n");
}

/** The result as a page. */
export function cascadeHtml(cascade: Cascade): string {
  const { figures, promise } = cascade;
  const body = [
    `<p>${cascadeSentence(cascade)}.</p>`,
    `<p>For tasks like the ${figures.calibrationTasks} it was calibrated on. The score was fitted on ${figures.fitTasks} others; on the calibration tasks a right answer is scored above a wrong one in ${percent(figures.auc ?? Number.NaN)} of pairs.</p>`,
    "<h2>Success against cost</h2>",
    cascadeCurve(cascade),
    htmlTable(rows(cascade)),
    "<h2>Loss by family</h2>",
    `<p>In points of success against the team, with intervals of 95 %. The promise of ${points(promise.maxLoss)} is for all questions together: a family may lose more.</p>`,
    htmlTable(groupRows(cascade)),
    "<h2>What the score is made of</h2>",
    htmlTable([["feature", "weight"], ...cascade.score.terms.map(({ name, weight }) => [name, decimal(weight, 2)])]),
  ];
  return htmlPage(`Cascade of ${cascade.model}`, body.join("\n"));
}

/** Success against tokens for every threshold, with the chosen one, the team and the model alone marked. */
export function cascadeCurve({ figures, threshold }: Cascade): string {
  const [width, height] = [720, 320];
  const box = { left: 60, right: width - 24, top: 16, bottom: height - 46 };
  const { curve, success, cost, all } = figures;
  const ends = [
    { name: "model alone", x: cost.model.billedTokens, y: success.model },
    { name: `cascade: ${percent(all.escalated, 0)} to the team`, x: cost.cascade.billedTokens, y: success.cascade },
    { name: "team", x: cost.team.billedTokens, y: success.team },
  ];
  const steps = axisSteps(Math.max(...curve.map((one) => one.billedTokens), ...ends.map(({ x }) => x)) * 1.05);
  const lowest = Math.min(...curve.map((one) => one.success), ...ends.map(({ y }) => y));
  const from = Math.max(0, Math.floor((lowest - 0.01) * 50) / 50);
  const x = (value: number) => box.left + (value / steps.at(-1)!) * (box.right - box.left);
  const y = (value: number) => box.bottom - ((value - from) / (1.005 - from)) * (box.bottom - box.top);
  const levels = Array.from({ length: 5 }, (_, at) => from + ((1 - from) * at) / 4);
  const grid = levels.map((at) => `<line x1="${box.left}" x2="${box.right}" y1="${y(at).toFixed(1)}" y2="${y(at).toFixed(1)}" class="grid"/>${text(box.left - 8, y(at) + 4, percent(at), "end")}`); // biome-ignore format: one line of the grid
  const ticks = steps.map((at) => text(x(at), box.bottom + 18, count(at)));
  const line = curve.map((one) => `${x(one.billedTokens).toFixed(1)},${y(one.success).toFixed(1)}`).join(" ");
  const dots = curve.map((one) => `<circle cx="${x(one.billedTokens).toFixed(1)}" cy="${y(one.success).toFixed(1)}" r="${one.threshold === threshold ? 5 : 2}" fill="${colour(0)}"><title>${percent(one.escalated)} to the team: ${percentWithInterval({ value: one.success, low: one.success, high: one.success }).split(" [")[0]} at ${count(one.billedTokens)} tokens, loss ${points(one.loss)}</title></circle>`); // biome-ignore format: one mark
  const marks = ends.map(({ name, x: at, y: of }, i) => {
    const right = x(at) < width / 2;
    return `<circle cx="${x(at).toFixed(1)}" cy="${y(of).toFixed(1)}" r="6" fill="${colour(i + 1)}"/>${text(x(at) + (right ? 10 : -10), y(of) + (i === 1 ? 18 : 4), name, right ? "start" : "end", "label")}`;
  });
  const label = text((box.left + box.right) / 2, height - 6, "billed tokens a question");
  return svg(height, "success against tokens of every threshold", [...grid, ...ticks, `<polyline points="${line}" fill="none" stroke="${colour(0)}"/>`, ...dots, ...marks, label].join("")); // biome-ignore format: one picture
}
