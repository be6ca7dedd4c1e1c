/**
 * A world: people, cities, companies and rivers that are linked to each other, one small page each. Some cities,
 * companies and rivers have the same name (up to three of them), so the first page with the right title is sometimes
 * the wrong page, which the reader must notice. People come in families that share a last name. Everything follows from
 * the seed.
 */

import { type SeededRandom, seededRandom } from "../base/work/random.ts";
import { UsageError } from "../core/errors.ts";
import { firstNames, ownWords, type Split, splitNumber } from "./names.ts";
import { type Kind, type RelationName, relationsOf } from "./relations.ts";

/** One thing of the world, with all that is true of it. */
export interface Entity {
  page: number;
  kind: Kind;
  name: string;
  facts: { relation: RelationName; value: string; to?: Entity }[];
}

export interface World {
  /** What it was made from: the same options make it again. */
  options: Required<WorldOptions>;
  /** @internal */
  entities: readonly Entity[];
  /** Everything that has a page, in the order of the index. @internal */
  byPage: ReadonlyMap<number, Entity>;
  homonyms: ReadonlySet<string>;
}

export interface WorldOptions {
  /** 0 to 20,479; two seeds share no entity name. */
  seed: number;
  /** How many pages, 20 to 90,000; 600 by default. */
  pages?: number;
  /** `train` by default; `test` worlds share neither names nor numbers with it. */
  split?: "train" | "test";
  /** Share of names of cities, companies and rivers that several of them have; 0.25 by default. */
  homonyms?: number;
  /** Another world from the same names: other pages and facts. 0 by default. */
  variant?: number;
}

const shares: Readonly<Record<Kind, number>> = { person: 0.4, city: 0.24, company: 0.2, river: 0.16 };

/** Makes a world; the same options give the same world, byte for byte. */
export function createWorld(options: WorldOptions): World {
  const { seed, pages = 600, split = "train", homonyms = 0.25, variant = 0 } = options;
  if (!Number.isInteger(pages) || pages < 20 || pages > 90_000) {
    throw new UsageError(`a world has 20 to 90000 pages, not ${pages}`);
  }
  const random = seededRandom("world", seed, split, pages, homonyms, variant);
  const words = ownWords(seed, split, variant);
  const counts = { person: 0, city: 0, company: 0, river: 0 };
  for (const kind of ["city", "company", "river"] as const)
    counts[kind] = Math.max(4, Math.round(pages * shares[kind]));
  counts.person = pages - counts.city - counts.company - counts.river;
  const named = [...namePlaces(random, words, counts, homonyms), ...namePeople(random, words, counts.person)];
  const numbers = pageNumbers(random, pages);
  const entities: Entity[] = random
    .shuffle(named)
    .map((entity, index) => ({ page: numbers[index]!, ...entity, facts: [] }));
  addFacts(random, split, entities);
  const byName = Map.groupBy(entities, (entity) => entity.name);
  return {
    options: { seed, pages, split, homonyms, variant },
    entities,
    byPage: new Map(entities.map((entity) => [entity.page, entity])),
    homonyms: new Set([...byName].filter(([, bearers]) => bearers.length > 1).map(([name]) => name)),
  };
}

type Named = Pick<Entity, "kind" | "name">;

/** Cities, companies and rivers; some words name two of them, some all three. */
function namePlaces(
  random: SeededRandom,
  words: Iterator<string>,
  counts: Readonly<Record<Kind, number>>,
  homonyms: number,
): Named[] {
  const left = { city: counts.city, company: counts.company, river: counts.river };
  const places: Named[] = [];
  for (;;) {
    const open = (["city", "company", "river"] as const).filter((kind) => left[kind] > 0);
    if (open.length === 0) return places;
    const bearers = random.next() < homonyms ? (random.next() < 0.35 ? 3 : 2) : 1;
    const name = words.next().value as string;
    // The kind with most left comes first, so that the kinds run out together.
    const order = random.shuffle(open).sort((a, b) => left[b] / counts[b] - left[a] / counts[a]);
    for (const kind of order.slice(0, bearers)) {
      places.push({ kind, name });
      left[kind]--;
    }
  }
}

/** People: families of one to three share a last name. */
function namePeople(random: SeededRandom, words: Iterator<string>, count: number): Named[] {
  const people: Named[] = [];
  while (people.length < count) {
    const lastName = words.next().value as string;
    const family = 1 + (random.next() < 0.3 ? 1 + random.below(2) : 0);
    for (const firstName of random.shuffle(firstNames).slice(0, Math.min(family, count - people.length))) {
      people.push({ kind: "person", name: `${firstName} ${lastName}` });
    }
  }
  return people;
}

/** Distinct page numbers of three digits where they suffice, in random order. */
function pageNumbers(random: SeededRandom, pages: number): number[] {
  const lowest = pages <= 900 ? 100 : pages <= 9_000 ? 1_000 : 10_000;
  const all = Array.from({ length: lowest * 9 }, (_, index) => lowest + index);
  return random.shuffle(all).slice(0, pages);
}

function addFacts(random: SeededRandom, split: Split, entities: readonly Entity[]): void {
  const ofKind = Object.groupBy(entities, (entity) => entity.kind) as Record<Kind, Entity[]>;
  for (const entity of entities) {
    for (const relation of relationsOf(entity.kind)) {
      if (typeof relation.value === "object") {
        const { min, max } = relation.value;
        entity.facts.push({ relation: relation.name, value: String(splitNumber(random, split, min, max)) });
      } else {
        const to = random.pick(ofKind[relation.value]);
        entity.facts.push({ relation: relation.name, value: to.name, to });
      }
    }
  }
}
