/**
 * Pages that can't be trusted: out of date, contradicted by others, or about another thing of that name. Each has the
 * title of a thing that is asked about and says in one sentence why it can't be trusted, and some of its numbers are
 * wrong. Mostly the right page is among the results too, so that a check which reads carefully leads to a better
 * answer; where the right page does not exist, a lower score is right.
 */
import { seededRandom } from "../../src/base/work/random.ts";
import type { Entity, World } from "../../src/lab/create-world.ts";
import { splitNumber } from "../../src/lab/names.ts";
import { doubts, relationNamed } from "../../src/lab/relations.ts";

export interface DoubtfulPage {
  entity: Entity;
  /** The thing that is meant by its title. */
  about: Entity;
  /** The right page does not exist: this is the only one. */
  alone: boolean;
}

/** The world with pages that can't be trusted for a share of its things with a unique name; all else stays as it was. */
export function withDoubtfulPages(world: World, share: number): World & { doubtful: readonly DoubtfulPage[] } {
  const { seed, split, variant } = world.options;
  const random = seededRandom("doubtful", seed, split, variant, share);
  const used = new Set(world.entities.map(({ page }) => page));
  const doubtful: DoubtfulPage[] = [];
  // A doubtful page is next to the right one, in either order.
  const pages = world.entities.flatMap((about): Entity[] => {
    if (world.homonyms.has(about.name) || random.next() >= share) return [about];
    const doubt = random.pick(doubts);
    let page = 100 + random.below(900);
    for (let tries = 0; used.has(page); tries++)
      page = tries < 50 ? 100 + random.below(900) : 10_000 + random.below(90_000);
    used.add(page);
    // A page about another thing of that name never replaces the right page.
    const alone = doubt.words !== "about another one" && random.next() < 0.5;
    const facts = about.facts.map((fact) => {
      const { value } = relationNamed(fact.relation)!;
      if (typeof value !== "object" || random.next() < 0.25) return fact;
      return { ...fact, value: String(splitNumber(random, split, value.min, value.max)) };
    });
    const entity = { ...about, page, facts, doubt: doubt.sentence };
    doubtful.push({ entity, about, alone });
    if (alone) return [entity];
    return page % 3 === 0 ? [about, entity] : [entity, about];
  });
  // Named among the options too: what is asked about a world follows from them.
  const options = { ...world.options, doubtful: share };
  return { ...world, options, byPage: new Map(pages.map((entity) => [entity.page, entity])), doubtful };
}
