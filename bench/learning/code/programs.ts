/**
 * Small programming problems in words, each with what it computes and a program that computes it. A problem is put
 * together from parts (which numbers, what of them; one step on a word, then another), so that kinds can be held out
 * whose parts are known. A part also has a common mistake of programmers, and the thought that leads to its correction.
 */

/** A value that a problem takes: a list of numbers, a word, a number. */
export type Value = readonly number[] | string | number;

/** A mistake in a first draft. */
export interface Slip {
  /** Lines of the program, as `body`. */
  body: readonly string[];
  /** The thought that leads to the repaired program. */
  remedy: string;
}

export interface Problem {
  /** The kind it is of; kinds are held out by this name. */
  kind: string;
  takes: "numbers" | "word" | "number";
  /** What is asked for, as the object of "print" or "return". */
  phrase: string;
  /** The lines between reading and printing. They may use `a`, `s` or `n`, and leave the result in `r`. */
  body: readonly string[];
  slips: readonly Slip[];
  solve(value: Value): string | number;
}

interface Selection {
  name: string;
  /** Whether it has a number of its own. */
  bound?: true;
  words(n: number): string;
  test(n: number): string;
  /** A test that is nearly right. */
  slip(n: number): string;
  remedy: string;
  takes(x: number, n: number): boolean;
}

const selections: readonly Selection[] = [
  {
    name: "above",
    bound: true,
    words: (n) => `above ${n}`,
    test: (n) => `x > ${n}`,
    slip: (n) => `x >= ${n}`,
    remedy: "above is more than",
    takes: (x, n) => x > n,
  },
  {
    name: "below",
    bound: true,
    words: (n) => `below ${n}`,
    test: (n) => `x < ${n}`,
    slip: (n) => `x <= ${n}`,
    remedy: "below is less than",
    takes: (x, n) => x < n,
  },
  {
    name: "multiples",
    bound: true,
    words: (n) => `that ${n} divides`,
    test: (n) => `x % ${n} == 0`,
    slip: (n) => `x / ${n} == 0`,
    remedy: "divides leaves no rest",
    takes: (x, n) => x % n === 0,
  },
  {
    name: "even",
    words: () => "that are even",
    test: () => "x % 2 == 0",
    slip: () => "x % 2 == 1",
    remedy: "even leaves no rest",
    takes: (x) => x % 2 === 0,
  },
  {
    name: "odd",
    words: () => "that are odd",
    test: () => "x % 2 == 1",
    slip: () => "x % 2 == 0",
    remedy: "odd leaves a rest",
    takes: (x) => x % 2 === 1,
  },
];

interface Aggregate {
  name: string;
  words: string;
  code: string;
  /** How it fails on an empty list, where it does. */
  careless?: string;
  of(numbers: readonly number[]): number;
}

const aggregates: readonly Aggregate[] = [
  { name: "sum", words: "the sum of the numbers", code: "sum(b)", of: (b) => b.reduce((sum, x) => sum + x, 0) },
  { name: "count", words: "how many numbers there are", code: "len(b)", of: (b) => b.length },
  {
    name: "largest",
    words: "the largest of the numbers",
    code: "max(b, default=0)",
    careless: "max(b)",
    of: (b) => Math.max(0, ...b),
  },
  {
    name: "smallest",
    words: "the smallest of the numbers",
    code: "min(b, default=0)",
    careless: "min(b)",
    of: (b) => (b.length === 0 ? 0 : Math.min(...b)),
  },
];

/** All pairs of an aggregate and a selection. */
function ofNumbers(n: number): Problem[] {
  return aggregates.flatMap((aggregate) =>
    selections.map((selection): Problem => {
      const body = (test: string, code = aggregate.code) => [`b = [x for x in a if ${test}]`, `r = ${code}`];
      const slips: Slip[] = [{ body: body(selection.slip(n)), remedy: selection.remedy }];
      if (aggregate.careless)
        slips.push({ body: body(selection.test(n), aggregate.careless), remedy: "the list may be empty" });
      return {
        kind: `${aggregate.name}-${selection.name}`,
        takes: "numbers",
        phrase: `${aggregate.words} ${selection.words(n)}`,
        body: body(selection.test(n)),
        slips,
        solve: (value) => aggregate.of((value as readonly number[]).filter((x) => selection.takes(x, n))),
      };
    }),
  );
}

interface Step {
  name: string;
  words: string;
  code: string;
  slip: string;
  remedy: string;
  of(word: string): string;
}

function stepsOf(n: number, letter: string): Step[] {
  const times = 2 + (n % 3);
  return [
    {
      name: "reversed",
      words: "reversed",
      code: "s[::-1]",
      slip: "s[:-1]",
      remedy: "reversed goes in steps of -1",
      of: (word) => [...word].reverse().join(""),
    },
    {
      name: "capitals",
      words: "in capitals",
      code: "s.upper()",
      slip: "s.title()",
      remedy: "capitals means all letters",
      of: (word) => word.toUpperCase(),
    },
    {
      name: "repeated",
      words: `${times} times`,
      code: `s * ${times}`,
      slip: `s + ${times}`,
      remedy: "times is a product",
      of: (word) => word.repeat(times),
    },
    {
      name: "without",
      words: `without ${letter}`,
      code: `s.replace('${letter}', '')`,
      slip: `s.replace('${letter}')`,
      remedy: "replace takes two texts",
      of: (word) => word.replaceAll(letter, ""),
    },
  ];
}

/** All pairs of different steps on a word; what is taken out is taken out first, so that capitals do not hide it. */
function ofWords(n: number, letter: string): Problem[] {
  const steps = stepsOf(n, letter);
  return steps.flatMap((first) =>
    steps
      .filter((second) => second !== first && second.name !== "without")
      .map((second): Problem => {
        const body = (one: string, two: string) => [`s = ${one}`, `r = ${two}`];
        return {
          kind: `${first.name}-${second.name}`,
          takes: "word",
          phrase: `the word ${first.words}, then ${second.words}`,
          body: body(first.code, second.code),
          slips: [
            { body: body(first.slip, second.code), remedy: first.remedy },
            { body: body(first.code, second.slip), remedy: second.remedy },
          ],
          solve: (value) => second.of(first.of(value as string)),
        };
      }),
  );
}

/** Small dynamic programming. */
function byTable(n: number): Problem[] {
  const coins = [1, 2 + (n % 3), 5 + (n % 4)];
  const ways = (start: string) => [
    `w = ${start}`,
    `for c in [${coins.join(", ")}]:`,
    "    for i in range(c, n + 1):",
    "        w[i] += w[i - c]",
    "r = w[n]",
  ];
  const best = (old: string) => ["p, q = 0, 0", "for x in a:", `    p, q = q, max(q, ${old} + x)`, "r = q"];
  return [
    {
      kind: "table-coins",
      takes: "number",
      phrase: `in how many ways coins of ${coins.join(", ")} make n`,
      body: ways("[1] + [0] * n"),
      slips: [
        { body: ways("[0] * (n + 1)"), remedy: "there is one way to make 0" },
        { body: ways("[1] + [0] * (n - 1)"), remedy: "the table needs n + 1 places" },
      ],
      solve: (value) => {
        const table = [1, ...new Array<number>(value as number).fill(0)];
        for (const coin of coins) for (let i = coin; i < table.length; i++) table[i]! += table[i - coin]!;
        return table[value as number]!;
      },
    },
    {
      kind: "table-apart",
      takes: "numbers",
      phrase: "the best sum of numbers of which no two stand side by side",
      body: best("p"),
      slips: [{ body: best("q"), remedy: "the one before must be left out" }],
      solve: (value) => {
        let [before, now] = [0, 0];
        for (const x of value as readonly number[]) [before, now] = [now, Math.max(now, before + x)];
        return now;
      },
    },
  ];
}

/** Every problem with these numbers in it. */
export function problems(n: number, letter: string): Problem[] {
  return [...ofNumbers(n), ...ofWords(n, letter), ...byTable(n)];
}

const reading = {
  numbers: "a = list(map(int, input().split()))",
  word: "s = input()",
  number: "n = int(input())",
} as const;
const argument = { numbers: "a", word: "s", number: "n" } as const;

/** Whether a problem is put as a program that reads and prints, or as a function `f`. */
export type Form = "stdin" | "function";

/** A whole program around the lines that compute `r`. */
export function programOf({ takes }: Problem, body: readonly string[], form: Form): string {
  if (form === "stdin") return [reading[takes], ...body, "print(r)"].join("\n");
  return [`def f(${argument[takes]}):`, ...[...body, "return r"].map((line) => `    ${line}`)].join("\n");
}
