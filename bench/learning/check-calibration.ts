/**
 * How reliable a system's own check is. `auc`: the chance that a right answer was scored higher than a wrong one (0.5:
 * the score says nothing). `brier`: mean squared distance between score and truth, with scores 1 to 4 read as chances 0
 * to 1. The groups are what a reliability plot shows: of the answers with one score, how many were right.
 */
import type { EvaluationRecord } from "../../src/evaluate/evaluation-record.ts";

/** Whether the scores of a system's own check tell right answers from wrong ones. */
export interface CheckCalibration {
  runs: number;
  /** Chance that a right answer was scored higher than a wrong one; null where all are right or all wrong. */
  auc: number | null;
  /** Mean squared distance of score (as a chance) and truth. */
  brier: number;
  groups: { score: number; chance: number; runs: number; right: number }[];
}

const [lowest, highest] = [1, 4];

/** The calibration of the checks in these records; null where no answer was checked. */
export function checkCalibration(
  records: readonly Pick<EvaluationRecord, "check" | "grade">[],
): CheckCalibration | null {
  const checked = records.flatMap(({ check, grade }) =>
    check === undefined || grade.correct === null ? [] : [{ score: check, right: grade.correct }],
  );
  if (checked.length === 0) return null;
  const groups = [...Map.groupBy(checked, ({ score }) => score)].sort(([a], [b]) => a - b);
  const chance = (score: number) => Math.min(1, Math.max(0, (score - lowest) / (highest - lowest)));
  const squares = checked.map(({ score, right }) => (chance(score) - (right ? 1 : 0)) ** 2);
  return {
    runs: checked.length,
    auc: areaUnderCurve(groups.map(([, members]) => members)),
    brier: squares.reduce((sum, square) => sum + square, 0) / checked.length,
    groups: groups.map(([score, members]) => ({
      score,
      chance: chance(score),
      runs: members.length,
      right: members.filter(({ right }) => right).length,
    })),
  };
}

/** Of all pairs of a right and a wrong answer, the share in which the right one scored higher; ties count half. */
function areaUnderCurve(byScore: readonly (readonly { right: boolean }[])[]): number | null {
  let wrongBelow = 0;
  let won = 0;
  let [rights, wrongs] = [0, 0];
  for (const members of byScore) {
    const right = members.filter((one) => one.right).length;
    const wrong = members.length - right;
    won += right * (wrongBelow + wrong / 2);
    wrongBelow += wrong;
    rights += right;
    wrongs += wrong;
  }
  return rights === 0 || wrongs === 0 ? null : won / (rights * wrongs);
}
