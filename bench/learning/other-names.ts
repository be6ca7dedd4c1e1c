/**
 * A training world under other names. The lab's own words have three syllables of two letters each, so a model that learned from them
 * alone also learned where a name ends; here words have one to three syllables of one to three letters, and only the page says where a name
 * ends. None is longer than the lab's own of training (three syllables, six letters), and none has their form, so no test world's name is
 * among them.
 */
import type { SeededRandom } from "../../src/base/work/random.ts";
import type { Entity, World } from "../../src/lab/create-world.ts";

const [consonants, vowels] = ["bcdfghjklmnpqrstvwxyz", "aeiou"].map((letters) => [...letters]) as [string[], string[]];
/** c a consonant, v a vowel. */
const syllables = ["cv", "cv", "cv", "cvc", "cvc", "v", "vc"] as const;
const ownForm = /^(?:[^aeiou][aeiou]){3}$/;

/** The same world, in which a share of the words that names are made of is another word, wherever it stands. */
export function withOtherNames(world: World, random: SeededRandom, share: number): World {
  const words = new Map<string, string>();
  const used = new Set(world.entities.flatMap(({ name }) => name.split(" ")));
  for (const word of [...used]) {
    let other = word;
    if (random.next() < share) while (used.has(other)) other = newWord(random);
    used.add(other);
    words.set(word, other);
  }
  const renamed = (name: string) => name.replace(/[A-Z][a-z]+/g, (word) => words.get(word) ?? word);
  const copies = new Map<Entity, Entity>(world.entities.map((one) => [one, { ...one, name: renamed(one.name) }]));
  for (const copy of copies.values())
    copy.facts = copy.facts.map((fact) =>
      fact.to ? { ...fact, value: renamed(fact.value), to: copies.get(fact.to) } : fact,
    );
  const entities = [...copies.values()];
  return {
    ...world,
    entities,
    byPage: new Map(entities.map((entity) => [entity.page, entity])),
    homonyms: new Set([...world.homonyms].map(renamed)),
  };
}

/** One to three syllables, two to six letters. */
function newWord(random: SeededRandom): string {
  const count = 1 + random.below(3);
  for (;;) {
    const form = Array.from({ length: count }, () => random.pick(syllables)).join("");
    const word = [...form].map((kind) => random.pick(kind === "v" ? vowels : consonants)).join("");
    if (word.length >= 2 && word.length <= 6 && !ownForm.test(word)) return word[0]!.toUpperCase() + word.slice(1);
  }
}
