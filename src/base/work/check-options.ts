/** Public functions refuse options they do not have: a misspelt one would otherwise be ignored silently. */
import { UsageError } from "../../core/errors.ts";
import names from "./option-names.json" with { type: "json" };

/** Throws for an option that the function's type does not have, also inside options that have options; it names the nearest. */
export function checkOptions(where: keyof typeof names, options: object | undefined): void {
  for (const [part, known] of Object.entries(names[where])) {
    const given = part.split(".").reduce((of: unknown, name) => (name ? (of as Record<string, unknown>)?.[name] : of), options); // biome-ignore format: one path
    const all = known.split(" ");
    const unknown =
      given && typeof given === "object" ? Object.keys(given).find((name) => !all.includes(name)) : undefined;
    if (unknown === undefined) continue;
    const near = nearestName(unknown, all);
    const hint = near === undefined ? `it has ${all.join(", ")}` : `did you mean ${near}?`;
    throw new UsageError(`${part ? `${part} of ${where}` : where} has no option ${unknown}: ${hint}`);
  }
}

/** The name that was probably meant: the nearest, where at most a third of it (and never less than one letter) differs. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of names) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance <= Math.max(1, Math.floor(candidate.length / 3)) && distance < (best?.distance ?? Infinity)) {
      best = { name: candidate, distance };
    }
  }
  return best?.name;
}

/** How many letters must be added, dropped, changed or swapped with a neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, change, swapped ? before[j - 2]! + 1 : Infinity));
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
