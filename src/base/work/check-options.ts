/** Public functions refuse options they do not have: a misspelt one would otherwise be ignored silently. */
import { UsageError } from "../../core/errors.ts";

/** The known names of an options type, all of them and no others; give it `T` and the compiler checks the list. */
export type OptionNames<T> = Record<keyof Required<T>, true>;

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;
type NamesIn<T> = T extends unknown ? keyof T & string : never;
type AllOf<T, Text extends string> = [Words<Text>] extends [NamesIn<T>]
  ? [NamesIn<T>] extends [Words<Text>]
    ? Text
    : `lacks ${Exclude<NamesIn<T>, Words<Text>>}`
  : `has no ${Exclude<Words<Text>, NamesIn<T>>}`;

/** The same from one text of words: `optionNames<T>()("a b c")`; a name too many or too few does not compile. */
export function optionNames<T>(): <const Text extends string>(names: AllOf<T, Text>) => OptionNames<T> {
  return (names) => Object.fromEntries((names as string).split(" ").map((name) => [name, true])) as OptionNames<T>;
}

/** Throws for an option that is not among the known ones, naming the nearest that is; `parts` are options that have options. */
export function checkOptions<T>(
  where: string,
  options: object | undefined,
  known: OptionNames<T>,
  parts: { [Name in keyof T]?: Readonly<Record<string, true>> } = {},
): void {
  for (const name of Object.keys(options ?? {})) {
    if (Object.hasOwn(known, name)) continue;
    const near = nearestName(name, Object.keys(known));
    const hint = near === undefined ? `it has ${Object.keys(known).join(", ")}` : `did you mean ${near}?`;
    throw new UsageError(`${where} has no option ${name}: ${hint}`);
  }
  for (const [name, names] of Object.entries(parts)) {
    const part = (options as Record<string, unknown> | undefined)?.[name];
    if (part !== null && typeof part === "object")
      checkOptions(`${name} of ${where}`, part, names as OptionNames<object>);
  }
}

/** Those options that a function has, out of a larger object: to pass some of the caller's own options on to it. */
export function ownOptions<T>(options: object, known: OptionNames<T>): T {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(known, name))) as T;
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
