import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../base/work/random.ts";
import { belowPValue, binomialTail, type LossCounts, lossInterval, watchShare } from "./betting.ts";
import { areaUnderCurve, fitLogistic, logOdds } from "./logistic.ts";
import { chooseThreshold, lossesAt, type Promised, planTest, type Scored, tasksNeeded } from "./threshold.ts";

/** A student beside a team: how often each errs, and how far scores of right and wrong answers are apart. */
interface Made {
  wrong: number;
  team: number;
  apart: number;
}

function draws({ wrong, team, apart }: Made, n: number, random: ReturnType<typeof seededRandom>): Scored[] {
  return Array.from({ length: n }, () => {
    const model = random.next() >= wrong;
    return { score: random.normal() + (model ? apart : 0), model, team: random.next() < team };
  });
}

/** The true loss and the true share escalated at a threshold: no sampling error hides or makes a broken promise. */
function truth({ wrong, team, apart }: Made, threshold: number): { loss: number; escalated: number } {
  const [trustedWrong, trustedRight] = [upper(threshold), upper(threshold - apart)];
  const loss = wrong * team * trustedWrong - (1 - wrong) * (1 - team) * trustedRight;
  return { loss, escalated: 1 - wrong * trustedWrong - (1 - wrong) * trustedRight };
}

/** P(normal > x), Abramowitz and Stegun 7.1.26. */
function upper(x: number): number {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * z);
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = (poly * Math.exp(-z * z)) / 2;
  return x >= 0 ? tail : 1 - tail;
}

function repeated(made: Made, promised: Promised, n: number, times: number) {
  let [broken, escalated, refused] = [0, 0, 0];
  for (let draw = 0; draw < times; draw++) {
    const random = seededRandom("coverage", made.wrong, made.team, made.apart, promised.maxLoss, n, draw);
    const plan = planTest(draws(made, n, random), promised, n);
    const threshold = chooseThreshold(draws(made, n, random), plan, promised);
    if (threshold === null) refused++;
    const at = threshold === null ? { loss: 0, escalated: 1 } : truth(made, threshold);
    if (at.loss > promised.maxLoss) broken++;
    escalated += at.escalated / times;
  }
  return { broken: broken / times, escalated, refused: refused / times };
}

describe("the promise", () => {
  const students = { good: [0.03, 2], fair: [0.13, 2], bad: [0.5, 1.24] } as const;
  for (const [name, [wrong, apart]] of Object.entries(students))
    for (const team of [1, 0.9])
      for (const maxLoss of [0.01, 0.02])
        it(`is kept by a ${name} student beside a team that is right in ${team * 100} %, ${maxLoss * 100} points`, () => {
          const times = 300;
          const { broken } = repeated({ wrong, team, apart }, { maxLoss, confidence: 0.95 }, 500, times);
          assert.ok(broken <= 0.05 + 2 * Math.sqrt((0.05 * 0.95) / times), `broken in ${broken * 100} % of the draws`);
        });

  const table: [Made, maxLoss: number, n: number, escalated: number][] = [
    [{ wrong: 0.03, team: 1, apart: 1.24 }, 0.01, 2000, 0.36],
    [{ wrong: 0.03, team: 1, apart: 2 }, 0.01, 1000, 0.2],
    [{ wrong: 0.03, team: 1, apart: 2 }, 0.02, 500, 0.1],
    [{ wrong: 0.13, team: 1, apart: 2 }, 0.01, 500, 0.56],
    [{ wrong: 0.5, team: 1, apart: 1.24 }, 0.01, 1000, 0.94],
    [{ wrong: 0.05, team: 0.95, apart: 1.5 }, 0.01, 1000, 0.04],
    [{ wrong: 0.15, team: 0.9, apart: 1.5 }, 0.01, 2000, 0.13],
  ];
  for (const [made, maxLoss, n, known] of table)
    it(`escalates about ${(known * 100).toFixed()} % as simulated elsewhere: ${JSON.stringify(made)}, n = ${n}`, () => {
      const { escalated } = repeated(made, { maxLoss, confidence: 0.95 }, n, 60);
      assert.ok(Math.abs(escalated - known) < 0.04, `${(escalated * 100).toFixed(1)} %`);
    });

  it("is refused where tasks are too few, with the number that it takes", () => {
    const promised = { maxLoss: 0.01, confidence: 0.95 };
    const perfect = draws({ wrong: 0, team: 1, apart: 0 }, 298, seededRandom(1));
    const plan = planTest(perfect, promised, 298);
    assert.equal(plan.test, "harm");
    assert.equal(chooseThreshold(perfect, plan, promised), null);
    assert.equal(tasksNeeded(perfect, plan, promised), 299);
    assert.equal(tasksNeeded(perfect, plan, { ...promised, maxLoss: 0.02 }), 149);
    const one = draws({ wrong: 0, team: 1, apart: 0 }, 299, seededRandom(2));
    assert.notEqual(chooseThreshold(one, plan, promised), null);
    const hopeless = draws({ wrong: 0.9, team: 1, apart: 0 }, 800, seededRandom(3));
    const bad = planTest(hopeless, { maxLoss: 0.001, confidence: 0.95 }, 800);
    assert.equal(chooseThreshold(hopeless, bad, { maxLoss: 0.001, confidence: 0.95 }), null);
  });

  it("uses the harm test beside a team without errors and the net test beside a fallible one", () => {
    const promised = { maxLoss: 0.01, confidence: 0.95 };
    const plan = (team: number) =>
      planTest(draws({ wrong: 0.1, team, apart: 2 }, 1000, seededRandom(4)), promised, 1000);
    assert.equal(plan(1).test, "harm");
    assert.equal(plan(0.9).test, "net");
  });
});

describe("betting", () => {
  const stream = (
    random: ReturnType<typeof seededRandom>,
    harm: number,
    gain: number,
    n: number,
    each: (counts: LossCounts) => boolean,
  ) => {
    // biome-ignore format: one signature
    const counts = { harms: 0, gains: 0, ties: 0 };
    for (let i = 1; i <= n; i++) {
      const at = random.next();
      counts[at < harm ? "harms" : at < harm + gain ? "gains" : "ties"]++;
      if (each(counts)) return i;
    }
    return null;
  };

  /** After how many requests an alarm is raised that begins after `quiet` ones of a lower rate; null without one. */
  function alarmAfter(seed: string, rate: number, bound: number, most: number, quiet = { requests: 0, rate: 0 }) {
    const random = seededRandom(seed);
    const watch = watchShare(bound);
    for (let i = 1; i <= quiet.requests + most; i++) {
      watch.add(random.next() < (i <= quiet.requests ? quiet.rate : rate));
      if (watch.pValue <= 0.05) return i - quiet.requests;
    }
    return null;
  }
  /** What the best fixed bet on a rate gains a request, against a bound. */
  const growth = (rate: number, bound: number) =>
    rate * Math.log(rate / bound) + (1 - rate) * Math.log((1 - rate) / (1 - bound));

  it("raises a false alarm in at most a twentieth of audits, however often one looks", () => {
    const times = 300;
    const alarms = Array.from({ length: times }, (_, draw) => alarmAfter(`null ${draw}`, 0.02, 0.02, 1500));
    const share = alarms.filter((one) => one !== null).length / times;
    assert.ok(share <= 0.05 + 2 * Math.sqrt((0.05 * 0.95) / times), `${share * 100} %`);
  });

  it("finds a broken promise after about as many audited requests as log(1/d) over the growth rate", () => {
    const [harm, bound] = [0.08, 0.01];
    const predicted = Math.log(1 / 0.05) / growth(harm, bound);
    const found = Array.from({ length: 100 }, (_, draw) => alarmAfter(`broken ${draw}`, harm, bound, 5000)!).sort((a, b) => a - b); // biome-ignore format: one list
    assert.ok(found[50]! < 3 * predicted, `median ${found[50]}, predicted ${predicted.toFixed(0)}`);
    assert.ok(found[95]! < 8 * predicted, `95 of 100 within ${found[95]}`);
  });

  it("finds one that breaks after a long good time as soon, but for the part of the money that begins there", () => {
    const [harm, bound, quiet] = [0.1, 0.02, { requests: 5000, rate: 0.01 }];
    const predicted = Math.log((51 * 52) / 0.05) / growth(harm, bound);
    const found = Array.from({ length: 60 }, (_, draw) => alarmAfter(`late ${draw}`, harm, bound, 5000, quiet)!).sort((a, b) => a - b); // biome-ignore format: one list
    assert.ok(found.every((one) => one > 0), "none before it broke"); // biome-ignore format: one line
    assert.ok(found[30]! < 3 * predicted, `median ${found[30]}, predicted ${predicted.toFixed(0)}`);
  });

  it("keeps the truth inside its interval at all times together", () => {
    const times = 200;
    let missed = 0;
    for (let draw = 0; draw < times; draw++)
      if (stream(seededRandom("interval", draw), 0.06, 0.03, 600, (counts) => {
          if ((counts.harms + counts.gains + counts.ties) % 60 > 0) return false;
          const { low, high } = lossInterval(counts);
          return low > 0.03 || high < 0.03;
        })) missed++; // biome-ignore format: one rule
    assert.ok(missed / times <= 0.05 + 2 * Math.sqrt((0.05 * 0.95) / times), `${missed} of ${times}`);
    const { low, high } = lossInterval({ harms: 60, gains: 30, ties: 910 });
    assert.ok(low < 0.03 && high > 0.03 && high - low < 0.08);
    assert.deepEqual(lossInterval({ harms: 0, gains: 0, ties: 0 }), { value: 0, low: -1, high: 1 });
  });

  it("agrees with the product taken task by task", () => {
    const losses = [1, 0, 0, -1, 0, 1, -1, -1, 0, 0];
    const counts = { harms: 2, gains: 3, ties: 5 };
    const capital = losses.reduce((sum, loss) => sum * (1 + (0.5 / 0.98) * (0.02 - loss)), 1);
    assert.ok(Math.abs(belowPValue(counts, 0.02, [[0.5, 1]]) - Math.min(1, 1 / capital)) < 1e-12);
  });

  it("counts binomials exactly", () => {
    const choose = (n: number, k: number): number => (k === 0 ? 1 : (choose(n, k - 1) * (n - k + 1)) / k);
    for (const [k, n, rate] of [[0, 10, 0.2], [3, 10, 0.2], [7, 40, 0.1], [10, 10, 0.5]] as const) {
      const exact = Array.from({ length: k + 1 }, (_, i) => choose(n, i) * rate ** i * (1 - rate) ** (n - i));
      assert.ok(Math.abs(binomialTail(k, n, rate) - exact.reduce((sum, one) => sum + one, 0)) < 1e-12);
    } // biome-ignore format: one table
  });
});

describe("the logistic model", () => {
  const random = seededRandom("logistic");
  const rows = Array.from({ length: 3000 }, () => {
    const [a, b, c] = [random.normal(), random.normal() * 10 + 5, random.normal()];
    const right = random.next() < 1 / (1 + Math.exp(-(1 + 2 * a - 0.15 * (b - 5))));
    return { features: { a, b, c, constant: 3, ...(random.next() < 0.3 && { rare: a }) }, right };
  });

  it("finds the weights that made the data, and leaves out what is constant or mostly absent", () => {
    const fitted = fitLogistic(rows, ["a", "b", "c", "constant", "rare"]);
    const weight = Object.fromEntries(fitted.terms.map((term) => [term.name, term.weight / term.scale]));
    assert.deepEqual(Object.keys(weight), ["a", "b", "c"]);
    assert.ok(
      Math.abs(weight["a"]! - 2) < 0.25 && Math.abs(weight["b"]! + 0.15) < 0.03 && Math.abs(weight["c"]!) < 0.15,
    );
    const score = (features: Record<string, number>) => logOdds(fitted, features);
    assert.ok(score({ a: 1, b: 5, c: 0 }) > score({ a: 0, b: 5, c: 0 }));
    assert.ok(Number.isFinite(score({})));
  });

  it("survives rows that one feature separates", () => {
    const clean = rows.map(({ features }) => ({ features, right: features.a > 0 }));
    const fitted = fitLogistic(clean, ["a", "b", "c"]);
    assert.ok(fitted.terms.every(({ weight }) => Number.isFinite(weight)));
    assert.ok(
      areaUnderCurve(clean.map(({ features, right }) => ({ score: logOdds(fitted, features), right })))! > 0.99,
    );
  });

  it("measures the area under the curve, ties half", () => {
    const pairs = [[1, false], [2, true], [2, false], [3, true]] as const; // biome-ignore format: one table
    assert.equal(areaUnderCurve(pairs.map(([score, right]) => ({ score, right }))), 0.875);
    assert.equal(areaUnderCurve([{ score: 1, right: true }]), null);
    assert.deepEqual(lossesAt([{ score: 1, model: false, team: true }, { score: 3, model: true, team: false }], 2), { harms: 0, gains: 1, ties: 1 }); // biome-ignore format: one line
  });
});
