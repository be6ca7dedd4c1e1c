/** A small logistic model: a few figures of a chain, standardised, with ridge, fitted by Newton's method. */
import { z } from "zod";

/** What is known of a chain, by name; what the model's server did not tell is absent. */
export type Features = Readonly<Partial<Record<string, number>>>;

export const logisticSchema = z.object({
  bias: z.number(),
  terms: z.array(z.object({ name: z.string(), mean: z.number(), scale: z.number(), weight: z.number() })),
});

/** A fitted model. */
export type Logistic = z.infer<typeof logisticSchema>;

/** Strength of the ridge, in rows. */
const ridge = 3;

/** The log-odds that a chain with these features is right. A feature that is absent counts as the usual one. */
export function logOdds({ bias, terms }: Logistic, features: Features): number {
  return terms.reduce((sum, { name, mean, scale, weight }) => {
    const value = features[name];
    return value === undefined ? sum : sum + (weight * (value - mean)) / scale;
  }, bias);
}

/** Fits the chance of `right`. Features that half of the rows lack, or that never differ, are left out. */
export function fitLogistic(
  rows: readonly { features: Features; right: boolean }[],
  names: readonly string[],
): Logistic {
  const terms = names.flatMap((name) => {
    const values = rows.flatMap(({ features }) => features[name] ?? []);
    if (values.length * 2 <= rows.length) return [];
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const scale = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
    return scale > 1e-9 ? [{ name, mean, scale, weight: 0 }] : [];
  });
  const [bias, ...weights] = newton(rows, terms);
  return { bias: bias!, terms: terms.map((term, at) => ({ ...term, weight: weights[at]! })) };
}

function newton(rows: readonly { features: Features; right: boolean }[], terms: Logistic["terms"]): number[] {
  const size = terms.length + 1;
  const inputs = rows.map(({ features }) => [
    1,
    ...terms.map(({ name, mean, scale }) => ((features[name] ?? mean) - mean) / scale),
  ]);
  let weights = new Array<number>(size).fill(0);
  for (let step = 0; step < 30; step++) {
    const gradient = weights.map((weight, at) => (at === 0 ? 0 : -ridge * weight));
    const curvature = weights.map((_, at) => weights.map((_, other) => (at === other ? (at === 0 ? 1e-6 : ridge) : 0)));
    for (const [row, input] of inputs.entries()) {
      const odds = input.reduce((sum, value, at) => sum + value * weights[at]!, 0);
      const chance = 1 / (1 + Math.exp(-odds));
      const rest = Number(rows[row]!.right) - chance;
      const spread = Math.max(chance * (1 - chance), 1e-9);
      for (let at = 0; at < size; at++) {
        gradient[at]! += rest * input[at]!;
        for (let other = 0; other <= at; other++) curvature[at]![other]! += spread * input[at]! * input[other]!;
      }
    }
    const move = solve(curvature, gradient);
    const length = Math.max(...move.map(Math.abs));
    weights = weights.map((weight, at) => weight + move[at]! * Math.min(1, 4 / length));
    if (length < 1e-7) break;
  }
  return weights;
}

/** Solves a symmetric positive system, given by its lower half (Cholesky). */
function solve(matrix: number[][], right: readonly number[]): number[] {
  const size = right.length;
  for (let row = 0; row < size; row++) {
    for (let column = 0; column <= row; column++) {
      let sum = matrix[row]![column]!;
      for (let k = 0; k < column; k++) sum -= matrix[row]![k]! * matrix[column]![k]!;
      matrix[row]![column] = row === column ? Math.sqrt(Math.max(sum, 1e-12)) : sum / matrix[column]![column]!;
    }
  }
  const half: number[] = [];
  for (let row = 0; row < size; row++) {
    let sum = right[row]!;
    for (let k = 0; k < row; k++) sum -= matrix[row]![k]! * half[k]!;
    half[row] = sum / matrix[row]![row]!;
  }
  const result = new Array<number>(size).fill(0);
  for (let row = size - 1; row >= 0; row--) {
    let sum = half[row]!;
    for (let k = row + 1; k < size; k++) sum -= matrix[k]![row]! * result[k]!;
    result[row] = sum / matrix[row]![row]!;
  }
  return result;
}

/** The chance that a right one has the higher score than a wrong one, ties half; null where all are of one kind. */
export function areaUnderCurve(rows: readonly { score: number; right: boolean }[]): number | null {
  const sorted = rows.toSorted((a, b) => a.score - b.score);
  let [won, wrongs, rights] = [0, 0, 0];
  for (let from = 0; from < sorted.length; ) {
    let to = from;
    let right = 0;
    while (to < sorted.length && sorted[to]!.score === sorted[from]!.score) right += Number(sorted[to++]!.right);
    const wrong = to - from - right;
    won += right * (wrongs + wrong / 2);
    wrongs += wrong;
    rights += right;
    from = to;
  }
  return rights === 0 || wrongs === 0 ? null : won / (rights * wrongs);
}
