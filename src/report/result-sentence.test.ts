import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "../core/task.ts";
import { emptyUsage } from "../core/usage.ts";
import { compareEvaluations } from "../evaluate/compare-evaluations.ts";
import type { EvaluationRecord } from "../evaluate/evaluation-record.ts";
import type { StoredEvaluation } from "../evaluate/read-evaluation.ts";
import { summarise } from "../evaluate/summarise.ts";
import { comparisonHtml } from "./comparison-html.ts";
import { comparisonTable } from "./comparison-table.ts";
import { systemColours } from "./page.ts";
import { resultSentence } from "./result-sentence.ts";
import { scatterPlot, stackedBars } from "./svg-plots.ts";

interface Made {
  system: string;
  right: number;
  of?: number;
  tokens: number;
  topology?: string;
  identity?: Record<string, unknown>;
  split?: string;
  usd?: number;
}

/** An evaluation in which the first `right` tasks are answered. */
function made({
  system,
  right,
  of = 500,
  tokens,
  topology = "single",
  identity,
  split,
  usd = 0,
}: Made): StoredEvaluation {
  const tasks = Array.from({ length: of }, (_, i) => defineTask({ id: `t${i}`, question: `${i}?`, answers: ["1"] }));
  const records = tasks.map(
    ({ id }, i): EvaluationRecord => ({
      version: 1,
      system,
      taskId: id,
      sample: 0,
      seed: 0,
      answer: "1",
      grade: { correct: i < right, score: Number(i < right), reason: "" },
      ending: { reason: "answered" },
      usage: { ...emptyUsage(), billedTokens: tokens, computedTokens: tokens, wallMs: 60, costUsd: usd },
      toolCalls: {},
      tokensByRole: {},
    }),
  );
  const measure = split === undefined ? undefined : { split, scorers: [], judges: [] };
  const summary = summarise(records, { system, topology, samples: 1, tasks, measure, identity });
  return { folder: system, tasks, records, summary };
}

const condition = "four in ten searches find nothing";
const quickstart = [
  made({ system: "chain-sft", right: 430, tokens: 400, identity: { learned: "sft" }, split: "test" }),
  made({
    system: "team",
    right: 500,
    tokens: 10_000,
    topology: "handoff",
    identity: { scripted: true },
    split: "test",
  }),
  made({ system: "chain-rl", right: 435, tokens: 400, identity: { learned: "rl" }, split: "test" }),
  made({ system: "team-failing", right: 465, tokens: 12_000, topology: "handoff", identity: { condition } }),
  made({ system: "chain-sft-failing", right: 260, tokens: 500, identity: { learned: "sft", condition } }),
  made({ system: "chain-rl-failing", right: 315, tokens: 500, identity: { learned: "rl", condition } }),
];
const compared = compareEvaluations(quickstart);

describe("resultSentence", () => {
  it("says what one model answers, for how much of the team, and what RL changed where tools fail", () => {
    assert.equal(
      resultSentence(compared),
      "One model answers 87 % of 500 new questions (the team 100 %) with 4.6 % of the team's tokens; RL raises it from 52 to 63 % where four in ten searches find nothing (the team 93 %).",
    );
  });

  it("measures each system against the team that met the same failures, wherever it was named", () => {
    const { rows, baseline } = compared;
    assert.deepEqual(
      rows.map(({ against }) => against),
      ["team", undefined, "team", undefined, "team-failing", "team-failing"],
    );
    assert.equal(baseline.system, "team");
    assert.deepEqual(
      rows.map(({ since }) => since?.system),
      [undefined, undefined, "chain-sft", undefined, undefined, "chain-sft-failing"],
    );
    const table = comparisonTable(compared);
    assert.match(table, /96 % billed, 96 % computed vs team-failing|9\d % billed, 9\d % computed vs team-failing/);
    assert.match(
      table,
      /^chain-rl-failing against chain-sft-failing where four in ten searches find nothing: \+11\.0/m,
    );
    assert.match(table, /^team .*scripted/m, "the time of programs is not shown as a team's");
    assert.doesNotMatch(table, /area under the curve/);
  });

  it("names dollars where both sides have a price", () => {
    const priced = [
      made({ system: "team", right: 40, of: 40, tokens: 900, topology: "handoff", usd: 0.0012 }),
      made({ system: "m", right: 20, of: 40, tokens: 90, usd: 0.0001, identity: { learned: "sft" } }),
    ];
    assert.equal(
      resultSentence(compareEvaluations(priced)),
      "One model answers 50 % of 40 questions (the team 100 %) with 20 % of the team's tokens, $0.00020 instead of $0.0012 a right answer.",
    );
  });

  it("names numbers instead of percentages where tasks are few, and no gain that chance explains", () => {
    const one = compareEvaluations([made({ system: "m", right: 1, of: 1, tokens: 10 })]);
    assert.equal(resultSentence(one), "One model answers 1 of 1 question.");
    assert.match(comparisonTable(one), /1 of 1, 100\.0 % \[2\.5, 100\.0\]/);
    const none = [
      made({ system: "team", right: 7, of: 7, tokens: 900, topology: "handoff" }),
      made({ system: "m", right: 0, of: 7, tokens: 10, identity: { learned: "sft" } }),
    ];
    assert.equal(resultSentence(compareEvaluations(none)), "One model answers none of 7 questions (the team 7 of 7).");
    const same = [
      made({ system: "a", right: 50, of: 100, tokens: 10, identity: { learned: "sft" } }),
      made({ system: "b", right: 51, of: 100, tokens: 10, identity: { learned: "rl" } }),
    ];
    assert.match(
      resultSentence(compareEvaluations(same)),
      /; RL made no difference that 100 questions show \(50 to 51 %\)\.$/,
    );
    const worse = compareEvaluations([
      same[1]!,
      made({ system: "c", right: 30, of: 100, tokens: 10, identity: { learned: "rl-2" } }),
    ]);
    assert.match(resultSentence(worse), /; rl-2 lowers it from 51 to 30 %\.$/);
  });

  it("calls agreement with assumed answers what it is", () => {
    const evaluation = made({ system: "m", right: 80, of: 100, tokens: 10 });
    evaluation.summary.measure = { scorers: [], judges: [], right: { assumed: 100 } };
    assert.match(
      resultSentence(compareEvaluations([evaluation])),
      /^One model agrees with the assumed answers to 80 % of 100/,
    );
  });

  it("opens the HTML report, with its intervals one click away", () => {
    const html = comparisonHtml(compared);
    const lead = html.indexOf("One model answers 87 %");
    assert.ok(lead > 0 && lead < html.indexOf("<details>") && html.indexOf("<details>") < html.indexOf("<svg"));
    assert.match(html, /<summary>Intervals behind this sentence<\/summary>/);
  });
});

describe("pictures of many systems", () => {
  it("have twelve colours that differ, on white and on dark", () => {
    for (const theme of [0, 1] as const) {
      const colours = systemColours.map((pair) => pair[theme]);
      assert.equal(colours.length, 12);
      for (const [i, one] of colours.entries())
        for (const other of colours.slice(i + 1)) assert.ok(distance(one, other) > 0.09, `${one} ${other}`);
    }
  });

  it("have every name of the scatter inside the picture, where many systems solve everything", () => {
    const y = { value: 1, low: 0.9, high: 1 };
    // The last one is far to the right, so that all others have their names at the same side.
    const points = Array.from({ length: 12 }, (_, i) => ({
      name: `team-with-a-name-${i}`,
      x: i === 11 ? 10_000 : 1_000 + i,
      y,
      colour: i,
    }));
    const heights = [...scatterPlot(points, "tokens").matchAll(/y="([\d.-]+)" text-anchor="\w+" class="label"/g)];
    assert.equal(heights.length, 12);
    const sorted = heights
      .slice(0, 11)
      .map(([, height]) => Number(height))
      .sort((a, b) => a - b);
    assert.ok(sorted[0]! >= 10, `${sorted}`);
    for (const [i, height] of sorted.slice(1).entries()) assert.ok(height - sorted[i]! >= 12, `${sorted}`);
  });

  it("keep long names apart", () => {
    const names = ["", "-no-prompts", "-terse", "-wide"].map((end) => `team-agents-as-tools-with-a-long-name${end}`);
    const drawn = stackedBars(
      names.map((name) => ({ name, parts: { a: 1 } })),
      "tokens",
    );
    const labels = [...drawn.matchAll(/class="label">([^<]+)</g)]
      .map(([, label]) => label)
      .filter((label) => /team/.test(label!));
    assert.equal(new Set(labels).size, 4);
  });
});

/** Distance of two colours as eyes see it (OKLab). */
function distance(one: string, other: string): number {
  const [a, b] = [one, other].map(oklab) as [number[], number[]];
  return Math.hypot(...a.map((value, i) => value - b[i]!));
}

function oklab(hex: string): number[] {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const [l, m, s] = [
    0.4122 * r + 0.5363 * g + 0.0514 * b,
    0.2119 * r + 0.6807 * g + 0.1074 * b,
    0.0883 * r + 0.2817 * g + 0.63 * b,
  ].map(Math.cbrt) as [number, number, number];
  return [
    0.2105 * l + 0.7936 * m - 0.0041 * s,
    1.978 * l - 2.4286 * m + 0.4506 * s,
    0.0259 * l + 0.7828 * m - 0.8087 * s,
  ];
}
