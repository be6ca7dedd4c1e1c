/**
 * The report as one HTML file without any script: a picture of the flow from stage to stage (a band that narrows, with
 * what was dropped branching off), the reasons, samples of what was dropped, tokens and histograms.
 */
import { readTrajectory, writtenForm } from "../core/trajectory.ts";
import type { DistillReport, DroppedSample } from "../distill/distill-report.ts";

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #e3e7ee}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.bar{background:#3d7dca;height:.8rem;display:inline-block;border-radius:2px}
details{margin:.3rem 0}pre{white-space:pre-wrap;background:#f5f7fa;padding:.7rem;border-radius:6px;font-size:13px}
svg{width:100%;height:auto;overflow:visible}svg text{font:12px system-ui,sans-serif;fill:currentColor}
@media(prefers-color-scheme:dark){body{background:#12161c;color:#dde3ec}pre{background:#1b222c}td,th{border-color:#2a3340}}`;

/** The page. */
export function reportHtml(report: DistillReport): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Distillation report</title><style>${style}</style></head><body>
<h1>Distillation: ${report.records} records in, ${report.written} chains out</h1>
<p>Profile ${escapeHtml(report.profile)}. ${report.kept} chains kept, ${report.copies} further copies of chains that correct themselves; ${report.reflecting} reflect; ${report.filledThoughts} thoughts were filled in.</p>
${flowPicture(report)}
<h2>Stages</h2>${stageTable(report)}
<h2>Tokens per task</h2>${tokenTable(report)}
<h2>Hops per chain</h2>${histogram(report.hops)}
<h2>Tool calls</h2>${histogram(report.tools)}
<h2>Families</h2>${familyTable(report)}
<h2>What was dropped, for example</h2>${report.samples.map(sample).join("\n") || "<p>Nothing.</p>"}
<h2>What was broken</h2>${problemList(report)}
</body></html>
`;
}

function flowPicture(report: DistillReport): string {
  const { stages, records } = report;
  const column = 104;
  const height = 150;
  const top = 26;
  const thick = (count: number) => (records === 0 ? 0 : (height * count) / records);
  const bottom = top + height + 46;
  const parts: string[] = [];
  stages.forEach((stage, place) => {
    const x = place * column;
    const left = stage.entered - stage.dropped;
    const entered = thick(stage.entered);
    const stays = thick(left);
    parts.push(
      `<rect x="${x}" y="${top}" width="${column}" height="${stays.toFixed(1)}" fill="#3d7dca" fill-opacity=".55"/>`,
    );
    parts.push(`<text x="${x + 4}" y="${top - 10}">${escapeHtml(stage.name)}</text>`);
    parts.push(`<text x="${x + column - 6}" y="${(top + stays / 2 + 4).toFixed(1)}" text-anchor="end">${left}</text>`);
    if (stage.dropped === 0) return;
    // The lower part of the band turns down and leaves.
    const width = Math.max(1.5, entered - stays);
    const from = top + stays + width / 2;
    const middle = x + Math.max(30, width / 2 + 6);
    const reasons = Object.entries(stage.reasons).map(([reason, count]) => `${reason}: ${count}`);
    parts.push(
      `<path d="M ${x} ${from.toFixed(1)} C ${middle} ${from.toFixed(1)} ${middle} ${from.toFixed(1)} ${middle} ${bottom}" fill="none" stroke="#d0664a" stroke-opacity=".6" stroke-width="${width.toFixed(1)}"><title>${escapeHtml(reasons.join("\n"))}</title></path>`,
    );
    parts.push(`<text x="${middle}" y="${bottom + 16}" text-anchor="middle">−${stage.dropped}</text>`);
    parts.push(
      `<text x="${middle}" y="${bottom + 31}" text-anchor="middle" font-size="10">${escapeHtml(shorten(Object.keys(stage.reasons)[0] ?? ""))}</text>`,
    );
  });
  return `<svg viewBox="0 0 ${stages.length * column} ${bottom + 40}" role="img" aria-label="Chains from stage to stage">${parts.join("")}</svg>`;
}

function shorten(text: string): string {
  return text.length > 17 ? `${text.slice(0, 16)}…` : text;
}

function stageTable(report: DistillReport): string {
  const rows = report.stages.map((stage) => {
    const reasons = Object.entries(stage.reasons).map(([reason, count]) => `${escapeHtml(reason)} (${count})`);
    return `<tr><td>${escapeHtml(stage.name)}</td><td class="n">${stage.entered}</td><td class="n">${stage.dropped}</td><td class="n">${stage.entered - stage.dropped}</td><td>${reasons.join(", ")}</td></tr>`;
  });
  return `<table><tr><th>stage</th><th class="n">entered</th><th class="n">dropped</th><th class="n">left</th><th>why</th></tr>${rows.join("")}</table>`;
}

function tokenTable(report: DistillReport): string {
  const rows = report.tokens.map((sum) => {
    const mean = (value: number) => (sum.chains === 0 || value === 0 ? "–" : Math.round(value / sum.chains));
    return `<tr><td>${escapeHtml(sum.topology)}</td><td class="n">${sum.chains}</td><td class="n">${mean(sum.team.billed)}</td><td class="n">${mean(sum.team.computed)}</td><td class="n">${mean(sum.chain.billed)}</td><td class="n">${mean(sum.chain.computed)}</td></tr>`;
  });
  return `<table><tr><th>topology of the team</th><th class="n">tasks</th><th class="n">team, billed</th><th class="n">team, computed</th><th class="n">chain, billed without a cache</th><th class="n">chain, computed in one sequence</th></tr>${rows.join("")}</table>`;
}

function histogram(counts: Readonly<Record<string, number>>): string {
  const most = Math.max(1, ...Object.values(counts));
  const rows = Object.entries(counts).map(
    ([name, count]) =>
      `<tr><td>${escapeHtml(name)}</td><td class="n">${count}</td><td><span class="bar" style="width:${Math.ceil((240 * count) / most)}px"></span></td></tr>`,
  );
  return `<table>${rows.join("")}</table>`;
}

function familyTable(report: DistillReport): string {
  const rows = Object.entries(report.families).map(
    ([name, { entered, kept }]) =>
      `<tr><td>${escapeHtml(name)}</td><td class="n">${entered}</td><td class="n">${kept}</td></tr>`,
  );
  return `<table><tr><th>family</th><th class="n">entered</th><th class="n">kept</th></tr>${rows.join("")}</table>`;
}

function sample({ stage, id, reason, detail, text }: DroppedSample): string {
  const why = `${escapeHtml(stage)}: ${escapeHtml(reason)}${detail ? ` (${escapeHtml(detail)})` : ""}`;
  return `<details><summary>${why}: ${escapeHtml(id)}</summary><pre>${escapeHtml(text === undefined ? "no chain was made" : chainText(text))}</pre></details>`;
}

function chainText(line: string): string {
  try {
    return readTrajectory(JSON.parse(line)).segments.map(writtenForm).join("\n");
  } catch {
    return line;
  }
}

function problemList(report: DistillReport): string {
  if (report.problemCount === 0) return "<p>Nothing.</p>";
  const rows = report.problems.map(
    ({ file, line, stage, message }) =>
      `<tr><td>${escapeHtml(file)}:${line}</td><td>${escapeHtml(stage)}</td><td>${escapeHtml(message)}</td></tr>`,
  );
  return `<p>${report.problemCount} in all.</p><table><tr><th>where</th><th>stage</th><th>what</th></tr>${rows.join("")}</table>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
