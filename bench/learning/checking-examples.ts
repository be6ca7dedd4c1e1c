/**
 * Checking examples teach the check as reading examples teach reading: values of two pages are proposed one after the other,
 * half of them misread, and each is scored. A team that reads without slips never shows that a slip is to be scored low.
 */
import { type SeededRandom, seededRandom } from "../../src/base/work/random.ts";
import type { Segment, Trajectory } from "../../src/core/trajectory.ts";
import type { Entity, World } from "../../src/lab/create-world.ts";
import { aboutPages, think } from "../../src/lab/reading-examples.ts";
import { statedKind } from "../../src/lab/relations.ts";
import { pageSentences } from "../../src/lab/world-pages.ts";

/**
 * One example for every two pages of a world: everything they say is proposed, and sums of their numbers, half of it misread or
 * copied wrongly. Only the scores are to be learned.
 */
export function checkingExamples(world: World): Trajectory[] {
  const { seed, split, variant } = world.options;
  const known = Map.groupBy(
    world.entities.flatMap(({ facts }) => facts),
    ({ relation }) => relation,
  );
  return world.entities.flatMap((first, at) => {
    const second = world.entities[at + 1];
    if (at % 2 === 1 || !second) return [];
    const random = seededRandom("checking", seed, split, variant, first.page);
    const pages = [first, second].map((entity) => pageSentences(world, entity).join(" "));
    const read = ({ relation, value }: Fact, own: readonly Fact[], slip: boolean) => {
      const beside = own.filter((fact) => isNumber(fact.value) === isNumber(value));
      const slips = [random.pick(beside).value, random.pick(known.get(relation)!).value, nearly(value, random)];
      const found = slip ? random.pick(slips) : value;
      return { found, right: found === value, said: think(`the ${relation} is ${found}`) };
    };
    const singles = [first, second].flatMap((entity, page) =>
      entity.facts.map((fact): Segment[] => {
        const { found, right, said } = read(fact, entity.facts, random.next() < 0.5);
        return [said, ...checked(found, `${entity.name} is a ${statedKind(pages[page]!)?.word}: fits`, right)];
      }),
    );
    const [ones, others] = [first, second].map(({ facts }) => facts.filter(({ value }) => isNumber(value)));
    const sums = ones!.flatMap((one) =>
      others!.map((other): Segment[] => {
        const reads = [read(one, ones!, random.next() < 0.25), read(other, others!, random.next() < 0.25)];
        const copied = reads.map(({ found }) => (random.next() < 0.1 ? nearly(found, random) : found));
        const right = reads.every((part, index) => part.right && part.found === copied[index]);
        const sum = String(Number(copied[0]) + Number(copied[1]));
        return [
          ...reads.map(({ said }) => said),
          { tag: "code", text: ` print(${copied.join(" + ")})`, by: "model" },
          { tag: "observation", text: sum, by: "tool" },
          think(`the result is ${sum}`),
          ...checked(sum, "the numbers fit", right),
        ];
      }),
    );
    const turns = random.shuffle([...singles, ...sums]).flat();
    return [aboutPages(`checking-${seed}-${variant}-${first.page}`, [first, second], pages, turns)];
  });
}

/** A proposal and its check. */
function checked(proposed: string, reason: string, right: boolean): Segment[] {
  return [
    { tag: "suggested_answer", text: ` ${proposed}`, by: "model" },
    think(reason),
    { tag: "double_check", text: ` score ${right ? 4 : 3}`, by: "model" },
  ];
}

type Fact = Entity["facts"][number];

function isNumber(value: string): boolean {
  return /^\d+$/.test(value);
}

/** The value with one digit, or one syllable, changed. */
function nearly(value: string, random: SeededRandom): string {
  const places = [...value.matchAll(/\d|[a-z][aeiou]/g)];
  const { 0: part, index } = random.pick(places);
  const other = isNumber(value) ? String(random.below(10)) : random.pick("bdfghjklmnprstvz".split("")) + part[1];
  return value.slice(0, index) + other + value.slice(index + part.length);
}
