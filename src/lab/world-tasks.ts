/**
 * Questions about a world whose answers can be checked: one, two or three facts deep (`hop1`, `hop2`, `hop3`), sums of
 * given numbers (`arith`), and sums of two facts (`mixed`). Where asked for, also four and five facts deep (`hop4`, `hop5`), and
 * two facts that do not depend on each other (`both`). The entities and numbers are the world's own, so tasks of a test world
 * hold none that training has seen.
 */

import { type SeededRandom, seededRandom } from "../base/work/random.ts";
import { UsageError } from "../core/errors.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { World } from "./create-world.ts";
import { splitNumber } from "./names.ts";
import { relationNamed } from "./relations.ts";
import { bothValues } from "./understand-question.ts";

/** The families that are asked unless others are named. */
export const families = ["hop1", "hop2", "hop3", "arith", "mixed"] as const;
/** Longer walks: chains of 500 tokens and more, for long contexts. */
export const longFamilies = ["hop4", "hop5"] as const;
/** Families whose look-ups do not depend on each other: they can be made in one turn. */
export const wideFamilies = ["mixed", "both"] as const;
export type Family = (typeof families)[number] | (typeof longFamilies)[number] | (typeof wideFamilies)[number];
const allFamilies: readonly Family[] = [...families, ...longFamilies, "both"];

export interface WorldTaskOptions {
  count: number;
  /** In turn, so that they are balanced; all five by default. */
  families?: readonly ("hop1" | "hop2" | "hop3" | "hop4" | "hop5" | "arith" | "mixed" | "both")[];
  /** Another seed gives other questions about the same world; 0 by default. */
  seed?: number;
}

const questionForms = ["What is {}?", "Tell me {}.", "Find {}."] as const;

/** Makes tasks about a world, no question twice. */
export function worldTasks(world: World, options: WorldTaskOptions): Task[] {
  const asked = options.families ?? families;
  const unknown = asked.find((family) => !allFamilies.includes(family));
  if (unknown || asked.length === 0) {
    throw new UsageError(`no task family "${unknown ?? ""}"; the families are ${allFamilies.join(", ")}`);
  }
  const seed = options.seed ?? 0;
  const { options: origin } = world;
  const random = seededRandom("tasks", JSON.stringify(origin), seed);
  const tasks: Task[] = [];
  const seen = new Set<string>();
  for (let tries = 0; tasks.length < options.count; tries++) {
    if (tries > options.count * 200 + 1_000) {
      throw new UsageError(
        `the world has only ${tasks.length} different questions of these families; ask for fewer, or make a larger world`,
      );
    }
    const family = asked[tasks.length % asked.length]!;
    const made = makers[family](world, random);
    if (!made || seen.has(made.question)) continue;
    seen.add(made.question);
    tasks.push(
      defineTask({
        id: `lab-${origin.split}-${origin.seed}.${origin.variant}-${seed}-${tasks.length}-${family}`,
        question: random.pick(questionForms).replace("{}", made.question),
        answers: [made.answer],
        family,
        source: "lab",
        world: origin,
      }),
    );
  }
  return tasks;
}

interface Made {
  /** The noun phrase asked for. */
  question: string;
  answer: string;
}

const makers: Readonly<Record<Family, (world: World, random: SeededRandom) => Made | null>> = {
  hop1: (world, random) => lookUp(world, random, 1),
  hop2: (world, random) => lookUp(world, random, 2),
  hop3: (world, random) => lookUp(world, random, 3),
  hop4: (world, random) => lookUp(world, random, 4),
  hop5: (world, random) => lookUp(world, random, 5),
  arith: (world, random) => arithmetic(world, random),
  mixed: (world, random) => lookUpAndCompute(world, random),
  both: (world, random) => lookUpBoth(world, random),
};

/** At most one page of a task may have to be told apart from others of its title, so that runs stay short. */
function tooAmbiguous(world: World, names: Iterable<string>): boolean {
  return [...names].filter((name) => world.homonyms.has(name)).length > 1;
}

/** A walk of some steps along the facts: the last may end in a number, the others lead to another page. */
function lookUp(world: World, random: SeededRandom, hops: number): Made | null {
  const start = random.pick(world.entities);
  // By name: two things of one name in one walk would be the same search twice.
  const visited = new Set<string>([start.name]);
  let phrase = start.name;
  let at = start;
  for (let hop = 1; hop <= hops; hop++) {
    const usable = at.facts.filter((fact) => hop === hops || fact.to);
    // The founding year is the one fact that a wrong page of the right title has too: asked for often where that can be.
    const year = usable.find((one) => one.relation === "founding year");
    const more = year ? Array(world.homonyms.has(at.name) ? 6 : 1).fill(year) : [];
    const fact: (typeof usable)[number] = random.pick([...usable, ...more]);
    // Cities and companies both have a founding year, so the question says which it means.
    const which = hop === 1 && fact.relation === "founding year" ? `the ${at.kind} ` : "";
    phrase = `the ${fact.relation} of ${which}${phrase}`;
    if (hop === hops) return tooAmbiguous(world, visited) ? null : { question: phrase, answer: fact.value };
    if (!fact.to) return null;
    if (visited.has(fact.to.name)) return null;
    visited.add(fact.to.name);
    at = fact.to;
  }
  return null;
}

type Operator = "+" | "-" | "*";
const operatorWords: Readonly<Record<Operator, string>> = { "+": "plus", "-": "minus", "*": "times" };

function arithmetic(world: World, random: SeededRandom): Made | null {
  const number = (min: number, max: number) => splitNumber(random, world.options.split, min, max);
  const a = number(10, 999);
  const b = number(10, 999);
  const c = number(10, 99);
  switch (random.below(5)) {
    case 0:
      return { question: `${a} plus ${b} minus ${c}`, answer: String(a + b - c) };
    case 1:
      return { question: `${a} times ${c}`, answer: String(a * c) };
    case 2:
      return { question: `${a} times ${c} plus ${b}`, answer: String(a * c + b) };
    case 3:
      return { question: `the sum of ${a} and ${b}, times ${c}`, answer: String((a + b) * c) };
    default:
      return a > b ? { question: `the difference of ${a} and ${b}, times ${c}`, answer: String((a - b) * c) } : null;
  }
}

function twoFacts(world: World, random: SeededRandom) {
  const part = () => {
    const entity = random.pick(world.entities);
    const numeric = entity.facts.filter(
      (fact) => typeof relationNamed(fact.relation)!.value === "object" && fact.relation !== "founding year",
    );
    const fact = random.pick(numeric);
    return { entity, phrase: `the ${fact.relation} of ${entity.name}`, value: Number(fact.value) };
  };
  const [first, second] = [part(), part()];
  const names = [first.entity.name, second.entity.name];
  return names[0] === names[1] || tooAmbiguous(world, names) ? null : { first, second };
}

/** Two numbers from two pages, and their sum or difference. */
function lookUpAndCompute(world: World, random: SeededRandom): Made | null {
  const found = twoFacts(world, random);
  if (!found) return null;
  const { first, second } = found;
  const operator: Operator = random.next() < 0.5 ? "+" : "-";
  if (operator === "-" && first.value <= second.value) return null;
  const answer = operator === "+" ? first.value + second.value : first.value - second.value;
  return { question: `${first.phrase} ${operatorWords[operator]} ${second.phrase}`, answer: String(answer) };
}

/** Two numbers from two pages, both of them. */
function lookUpBoth(world: World, random: SeededRandom): Made | null {
  const found = twoFacts(world, random);
  if (!found) return null;
  const { first, second } = found;
  return {
    question: `${first.phrase} and ${second.phrase}`,
    answer: bothValues([String(first.value), String(second.value)]),
  };
}
