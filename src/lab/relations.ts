/**
 * What is true of things in the lab, and how pages and questions say it. Every relation has three phrasings on pages
 * and one in questions. The scripted specialists read with this same table, as a reader who knows the language would.
 */

export const kinds = ["person", "city", "company", "river"] as const;
export type Kind = (typeof kinds)[number];

const relationNames = [
  "birthplace",
  "employer",
  "age",
  "mayor",
  "river",
  "population",
  "chief",
  "seat",
  "staff",
  "mouth",
  "length",
  "founding year",
] as const;
export type RelationName = (typeof relationNames)[number];

export interface Relation {
  name: RelationName;
  /** Kinds of things that have it. Only the founding year belongs to two, which is how a wrong page can look right. */
  of: readonly Kind[];
  /** What its value is: a thing of some kind, or a number in a range. */
  value: Kind | { min: number; max: number };
  /** Sentences of a page about the thing, with `{}` for the value. */
  phrasings: readonly string[];
}

export const relations: readonly Relation[] = [
  relation("birthplace", "person", "city", "Born in {}.", "The birthplace is {}.", "Birthplace: {}."),
  relation("employer", "person", "company", "Works for {}.", "The employer is {}.", "Employer: {}."),
  relation("age", "person", between(18, 97), "{} years old.", "The age is {}.", "Age: {}."),
  relation("mayor", "city", "person", "Its mayor is {}.", "{} is the mayor.", "Mayor: {}."),
  relation("river", "city", "river", "It lies on the river {}.", "The river {} crosses it.", "River: {}."),
  relation(
    "population",
    "city",
    between(1_000, 9_999),
    "{} people live there.",
    "Its population is {}.",
    "Population: {}.",
  ),
  relation("chief", "company", "person", "Its chief is {}.", "{} leads it.", "Chief: {}."),
  relation("seat", "company", "city", "Its seat is {}.", "It is based in {}.", "Seat: {}."),
  relation("staff", "company", between(20, 999), "{} people work there.", "It employs {} people.", "Staff: {}."),
  relation("mouth", "river", "city", "It ends at {}.", "Its mouth is at {}.", "Mouth: {}."),
  relation("length", "river", between(20, 999), "It is {} km long.", "Its length is {} km.", "Length: {} km."),
  relation(
    "founding year",
    ["city", "company"],
    between(1_500, 1_999),
    "It was founded in {}.",
    "It dates from {}.",
    "Founded: {}.",
  ),
];

function relation(
  name: RelationName,
  of: Kind | readonly Kind[],
  value: Relation["value"],
  ...phrasings: readonly string[]
): Relation {
  return { name, of: typeof of === "string" ? [of] : of, value, phrasings };
}

function between(min: number, max: number): { min: number; max: number } {
  return { min, max };
}

const byName = new Map(relations.map((relation) => [relation.name as string, relation]));

/** The relation of this name, or undefined. */
export function relationNamed(name: string): Relation | undefined {
  return byName.get(name);
}

export function relationsOf(kind: Kind): Relation[] {
  return relations.filter((relation) => relation.of.includes(kind));
}

/** First sentences of a page, by kind; `{}` is the title. */
export const openings: Readonly<Record<Kind, readonly string[]>> = {
  person: ["{} is a painter.", "{} is a baker.", "{} is a teacher.", "{} is a singer."],
  city: ["{} is a city."],
  company: ["{} is a company."],
  river: ["{} is a river."],
};

/** What a page begins with, and all that search results show of it: it tells nothing, so pages must be read. */
export const taglines: readonly string[] = ["Famous.", "Quiet.", "Old.", "Green."];

/** The value that a page's text states for a relation, in any of its phrasings; null where it states none. */
export function statedValue(text: string, relation: Relation): string | null {
  for (const pattern of patternsOf(relation)) {
    const found = pattern.exec(text);
    if (found) return found[1]!;
  }
  return null;
}

const patterns = new Map<RelationName, RegExp[]>();

function patternsOf(relation: Relation): RegExp[] {
  let made = patterns.get(relation.name);
  if (!made) {
    const value = typeof relation.value === "object" ? "\\d+" : "[A-Z][a-z]+(?: [A-Z][a-z]+)?";
    // A sentence starts at the beginning or after a full stop, so that "Its mayor is X." is not read out of another one.
    made = relation.phrasings.map(
      (phrasing) => new RegExp(`(?:^|[.\\n]\\s*)${phrasing.replaceAll(".", "\\.").replace("{}", `(${value})`)}`),
    );
    patterns.set(relation.name, made);
  }
  return made;
}

/** What a page says its subject is: `Kamire is a city.` The word after "is a", and the subject; null where it says nothing. */
export function statedKind(text: string): { subject: string; word: string; kind: Kind } | null {
  const found = /(?:^|[.\n]\s*)([A-Z][a-z]+(?: [A-Z][a-z]+)?) is a ([a-z]+)\./.exec(text);
  if (!found) return null;
  const word = found[2]!;
  return { subject: found[1]!, word, kind: (kinds as readonly string[]).includes(word) ? (word as Kind) : "person" };
}
