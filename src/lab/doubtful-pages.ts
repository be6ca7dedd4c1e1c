/**
 * Pages that can't be trusted: out of date, contradicted by others, or about another thing of that name. Each has the
 * title of a thing that is asked about and says in one sentence why it can't be trusted, and some of its numbers are
 * wrong. Mostly the right page is among the results too, so that a check which reads carefully leads to a better
 * answer; where the right page does not exist, a lower score is right.
 */
import { seededRandom } from "../core/random.ts";
import type { Entity } from "./create-world.ts";
import { type Split, splitNumber } from "./names.ts";
import { relationNamed } from "./relations.ts";

/** What such pages say, and how the team says it. */
const doubts = [
  { sentence: "This page is out of date.", words: "out of date" },
  { sentence: "Other pages contradict this.", words: "contradicted" },
  { sentence: "This is another one of that name.", words: "about another one" },
] as const;

export interface DoubtfulPage {
  entity: Entity;
  /** The thing that is meant by its title. */
  about: Entity;
  /** The right page does not exist: this is the only one. */
  alone: boolean;
}

/** The doubtful pages of a world: for a share of its things with a unique name. */
export function doubtfulPages(
  entities: readonly Entity[],
  options: { seed: number; split: Split; variant: number; share: number; ambiguous: ReadonlySet<string> },
): DoubtfulPage[] {
  const { seed, split, variant, share, ambiguous } = options;
  const random = seededRandom("doubtful", seed, split, variant, share);
  const used = new Set(entities.map(({ page }) => page));
  const pages: DoubtfulPage[] = [];
  for (const about of entities) {
    if (ambiguous.has(about.name) || random.next() >= share) continue;
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
    pages.push({ entity: { ...about, page, facts, doubt: doubt.sentence }, about, alone });
  }
  return pages;
}

/** How a page says that it can't be trusted; null where it does not. */
export function statedDoubt(text: string): string | null {
  return doubts.find(({ sentence }) => text.includes(sentence))?.words ?? null;
}
