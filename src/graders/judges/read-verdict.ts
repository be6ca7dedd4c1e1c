/** Verdicts in a judge's reply, in the forms that judge prompts ask for. A reply without one is a failure of the judge. */
import { parseRelaxedJson } from "../../base/text/relaxed-json.ts";

/** What a judge said. */
export interface JudgeVerdict {
  correct: boolean;
  reason: string;
  /** How sure the answer was of itself, 0 to 1, where the judge was asked to read that. */
  confidence?: number;
}

/** One JSON object with a judgement, possibly inside a fence or prose, possibly with its last quote forgotten. */
export function readJson(text: string): JudgeVerdict | undefined {
  for (const candidate of [text, ...(text.match(/\{[^{}]*\}/g) ?? []).reverse()]) {
    try {
      const value = parseRelaxedJson(candidate) as { judgement?: unknown; judgment?: unknown; rationale?: unknown };
      const judgement = String(value.judgement ?? value.judgment ?? "")
        .trim()
        .toLowerCase();
      if (judgement !== "correct" && judgement !== "incorrect") continue;
      return { correct: judgement === "correct", reason: short(String(value.rationale ?? "")) || judgement };
    } catch {
      // Not JSON: the next candidate may be.
    }
  }
  return undefined;
}

/** `correct: yes` on a line of its own, with reasoning and confidence beside it; the last one counts. */
export function readYesNo(text: string): JudgeVerdict | undefined {
  const plain = text.replace(/[*_`]/g, "");
  const found = [...plain.matchAll(/(?:^|\n)[^\S\n]*"?correct"?\s*:\s*"?(yes|no)\b/gi)].at(-1)?.[1];
  if (!found) return undefined;
  const reason = /(?:^|\n)[^\S\n]*"?reasoning"?\s*:\s*(.+)/i.exec(plain)?.[1] ?? "";
  const percent = Number(/(?:^|\n)[^\S\n]*"?confidence"?\s*:\s*"?\|?\s*(\d+(?:\.\d+)?)/i.exec(plain)?.[1]);
  return {
    correct: found.toLowerCase() === "yes",
    reason: short(reason) || found,
    confidence: Number.isFinite(percent) ? Math.min(1, percent / 100) : 1,
  };
}

/** The letter A (correct), B (incorrect) or C (not attempted). */
export function readLetter(text: string): JudgeVerdict | undefined {
  const letter =
    /^\W*([ABC])\W*$/.exec(text.trim())?.[1] ??
    /\b([ABC])\b(?=[^A-Za-z]*$)/.exec(text)?.[1] ??
    /^\W*([ABC])\W*[:.)*]\W*(?:CORRECT|INCORRECT|NOT[_ ]ATTEMPTED)\b/.exec(text)?.[1];
  const titles = { A: "correct", B: "incorrect", C: "not attempted" };
  return letter ? { correct: letter === "A", reason: titles[letter as keyof typeof titles] } : undefined;
}

/** `GRADE: CORRECT` after an explanation, or the word alone at the end. */
export function readWord(text: string): JudgeVerdict | undefined {
  const plain = text.replace(/[*_`]/g, "");
  const word =
    [...plain.matchAll(/GRADE\s*:\s*(CORRECT|INCORRECT)\b/gi)].at(-1)?.[1] ??
    /\b(CORRECT|INCORRECT)\W*$/.exec(plain.trim())?.[1];
  if (!word) return undefined;
  return { correct: word.toUpperCase() === "CORRECT", reason: short(plain.split(/GRADE\s*:/i)[0]!) || word };
}

/** Any of the forms above. */
export function readAny(text: string): JudgeVerdict | undefined {
  return readJson(text) ?? readYesNo(text) ?? readWord(text) ?? readLetter(text);
}

function short(text: string): string {
  return text.trim().replace(/\s+/g, " ").slice(0, 300);
}
