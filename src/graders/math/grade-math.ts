/** The math grader: finds the answer in what was written, takes both apart and compares them as mathematics. */
import type { Grade } from "../../core/grader.ts";
import { sameMath } from "./compare-math.ts";
import { squeeze } from "./equal-expressions.ts";
import { openCalculator } from "./expression.ts";
import { extractAnswer } from "./extract-answer.ts";
import { parseMath } from "./parse-math.ts";

/** Longer answers are compared as text alone: no answer to a question of mathematics is this long. */
const longestAnswer = 3000;

/** Whether an answer equals one of the golds as mathematics. Golds and answer may be LaTeX, plain text or prose. */
export async function gradeMath(golds: readonly string[], answer: string | null): Promise<Grade> {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const found = extractAnswer(answer);
  const calculator = await openCalculator();
  const values = readings(found.text).flatMap(
    (text) => (text.length <= longestAnswer && readable(() => [parseMath(text)])) || [],
  );
  for (const gold of golds) {
    const wanted = extractAnswer(gold);
    const golden = readings(wanted.text).map(parseMath);
    const same = golden.some((expected) =>
      values.some((value) => readable(() => sameMath(calculator, expected, value))),
    );
    if (same || plainText(wanted.text) === plainText(found.text) || plainText(gold) === plainText(answer)) {
      return { correct: true, score: 1, reason: `${quote(found.text)} equals ${quote(wanted.text)}` };
    }
  }
  const expected = golds.map((gold) => quote(extractAnswer(gold).text)).join(" or ");
  return { correct: false, score: 0, reason: `${quote(found.text)} (${found.by}) differs from ${expected}` };
}

/**
 * `\sqrt3 \approx 1.73` states one value twice, exactly and rounded; `\textbf{(B)} 24` too, as a choice and as its
 * value. Either may be what was asked for.
 */
function readings(text: string): string[] {
  const choice = /^\s*\\(?:text|textbf|mathrm|mathbf)\s*\{\s*\(?([A-H])\)?[.:)]?\s*\}\s*(?:\\\s)?\s*([^\s].*)$/s.exec(
    text,
  );
  if (choice && /[\d\\]/.test(choice[2]!)) return [choice[1]!, choice[2]!];
  const sides = text.split(/\\(?:approx|simeq|thickapprox)(?![a-zA-Z])|≈/).filter((side) => side.trim() !== "");
  return sides.length === 0 ? [text] : sides;
}

/** Formula or prose without commands that only set type, for answers that are simply written the same. */
function plainText(text: string): string {
  return squeeze(text.replace(/\\(?:text|mbox|mathrm|textbf)\s*\{([^{}]*)\}|\$|\\[,;! ]/g, "$1"));
}

/** An answer nested deeper than the stack is not an answer; anything else that goes wrong is a bug and is thrown. */
function readable<T>(work: () => T): T | false {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function quote(text: string): string {
  return text.length > 120 ? `"${text.slice(0, 100)}…" (${text.length} characters)` : `"${text}"`;
}
