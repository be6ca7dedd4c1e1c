/** The math grader: finds the answer in what was written, takes both apart and compares them as mathematics. */
import type { Grade } from "../../core/grader.ts";
import { sameMath } from "./compare-math.ts";
import { squeeze } from "./equal-expressions.ts";
import { loadEngine } from "./expression.ts";
import { extractAnswer } from "./extract-answer.ts";
import { parseMath } from "./parse-math.ts";

/** Whether an answer equals one of the golds as mathematics. Golds and answer may be LaTeX, plain text or prose. */
export async function gradeMath(golds: readonly string[], answer: string | null): Promise<Grade> {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const found = extractAnswer(answer);
  const engine = await loadEngine();
  const values = readings(found.text).flatMap((text) => readable(() => [parseMath(text)]) || []);
  for (const gold of golds) {
    const wanted = extractAnswer(gold);
    const golden = readings(wanted.text).map(parseMath);
    const same = golden.some((expected) => values.some((value) => readable(() => sameMath(engine, expected, value))));
    if (same || squeeze(wanted.text) === squeeze(found.text)) {
      return { correct: true, score: 1, reason: `${quote(found.text)} equals ${quote(wanted.text)}` };
    }
  }
  const expected = golds.map((gold) => quote(extractAnswer(gold).text)).join(" or ");
  return { correct: false, score: 0, reason: `${quote(found.text)} (${found.by}) differs from ${expected}` };
}

/** `\\sqrt3 \\approx 1.73` states one value twice: exactly, and rounded. Either side may be what was asked for. */
function readings(text: string): string[] {
  const sides = text.split(/\\(?:approx|simeq|thickapprox)(?![a-zA-Z])|≈/);
  return sides.length === 2 && sides.every((side) => side.trim() !== "") ? sides : [text];
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
