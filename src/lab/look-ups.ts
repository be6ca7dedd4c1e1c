/**
 * Look-ups in natural text: the things of a world described in whole sentences, questions in many wordings, and a team of
 * scripts that answers them. It is what a language model that was trained before can be taught with few recorded runs. Each
 * relation is asked for in eight ways and, inside a longer question, named in six: the last of them never occur in training.
 */
import { seededRandom } from "../base/work/random.ts";
import type { ChatRequest } from "../core/model.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { defineProfile, type Profile } from "../language/profile.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { buildIndex } from "../tools/local-index/build-index.ts";
import { indexRetriever, wikiSearch } from "../tools/search/wiki-search.ts";
import { createWorld, type Entity, type World } from "./create-world.ts";
import wordings from "./look-up-wordings.json" with { type: "json" };
import { openings } from "./relations.ts";
import type { Specialist } from "./scripted-specialists.ts";
import { ownResults, ownTask, questionIn, transcriptEvents } from "./transcript.ts";

const newOnes = { asks: 3, names: 2 } as const;

function worded(relation: Entity["facts"][number]["relation"], how: keyof typeof newOnes, which: "seen" | "new") {
  const all = wordings[relation][how];
  return which === "seen" ? all.slice(0, -newOnes[how]) : all.slice(-newOnes[how]);
}

/** The chain of a look-up: a plan, searches, the answer, each in few words. */
export const lookUpProfile: Profile = defineProfile({
  ...mhqaProfile,
  name: "look-ups",
  style: { layout: "compact", maxCharacters: 800 },
  start: ["plan"],
  tags: mhqaProfile.tags
    .filter(({ name }) => name !== "reflection")
    .map((tag) => ({
      ...tag,
      next: tag.next.filter((name) => name !== "reflection"),
      think: "optional" as const,
    })),
  advice: [],
});

/** A world whose things all have names of their own. */
export function lookUpWorld(seed: number, split: World["options"]["split"] = "train"): World {
  return createWorld({ seed, split, pages: 135, homonyms: 0 });
}

/** The search tool over a world's texts; it gives the text that fits best. */
export function lookUpTools(world: World): Tool[] {
  const documents = world.entities.map((entity) => ({
    id: String(entity.page),
    title: entity.name,
    text: described(world, entity),
  }));
  const search = wikiSearch({ retrieve: indexRetriever(buildIndex(documents, { titleBoost: 8, b: 0 })), topk: 1 });
  return [{ ...search, execute: async (...call) => String(await search.execute(...call)).replace(/^Doc 1 .*\n/, "") }];
}

function described({ options }: World, entity: Entity): string {
  const random = seededRandom("described", JSON.stringify(options), entity.page);
  const opening = random.pick(openings[entity.kind]).replace("{}", entity.name);
  const said = random
    .shuffle(entity.facts)
    .map(({ relation, value }) => fill(random.pick(wordings[relation].says), called(opening), value));
  return [opening, ...said.map(capitalised)].join(" ");
}

/** What a text calls its subject after its first sentence, "Kamire is a city.": the city. */
const called = (text: string) => `the ${/ is an? (\w+)\./.exec(text)?.[1]}`;

const fill = (wording: string, subject: string, value = "") => wording.replace("{s}", subject).replace("{v}", value);

/** Questions of one and two look-ups in turn; pairs of relations whose sum of places divides by five are asked in tests alone. */
export function lookUpTasks(world: World, options: { count: number; wordings: "seen" | "new"; seed?: number }): Task[] {
  const { seed = 0, wordings: which, count } = options;
  const random = seededRandom("look-ups", JSON.stringify(world.options), which, seed);
  const tasks = new Map<string, Task>();
  while (tasks.size < count) {
    const hops = 1 + (tasks.size % 2);
    const start = random.pick(world.entities);
    const first = random.pick(hops === 1 ? start.facts : start.facts.filter(({ to }) => to));
    const last = hops === 1 ? first : random.pick(first.to!.facts);
    const kept = hops === 2 && keptForTests(first.relation, last.relation);
    if (last.value === start.name || (kept && world.options.split === "train")) continue;
    const subject = hops === 1 ? start.name : fill(random.pick(worded(first.relation, "names", which)), start.name);
    const question = capitalised(fill(random.pick(worded(last.relation, "asks", which)), subject));
    if (tasks.has(question)) continue;
    const id = `look-up-${world.options.split}-${world.options.seed}-${which}-${seed}-${tasks.size}`;
    const family = `${which} wording, ${hops === 1 ? "one look-up" : kept ? "unseen pair" : "two look-ups"}`;
    tasks.set(
      question,
      defineTask({ id, question, answers: [last.value], family, source: "lab", world: world.options }),
    );
  }
  return [...tasks.values()];
}

const places = Object.keys(wordings);
const keptForTests = (first: string, last: string) => (places.indexOf(first) + places.indexOf(last)) % 5 === 0;
const capitalised = (text: string) => text[0]!.toUpperCase() + text.slice(1);

interface Asked {
  subject: string;
  relations: (keyof typeof wordings)[];
}

/** Reads a question with the table of wordings, as a reader who knows the language would. */
function understand(question: string): Asked | null {
  for (const [relation, { asks }] of Object.entries(wordings)) {
    for (const ask of asks) {
      const inner = between(question, capitalised(ask)) ?? between(question, ask);
      const subject = inner === null ? null : readName(inner);
      if (subject) return { ...subject, relations: [...subject.relations, relation as keyof typeof wordings] };
    }
  }
  return null;
}

function readName(text: string): Asked | null {
  if (/^[A-Z][a-z]+(?: [A-Z][a-z]+)?$/.test(text)) return { subject: text, relations: [] };
  for (const [relation, { names }] of Object.entries(wordings)) {
    const inner = names
      .map((name) => between(text, name) ?? between(text, capitalised(name)))
      .find((one) => one !== null);
    const read = inner === undefined ? null : readName(inner!);
    if (read) return { ...read, relations: [...read.relations, relation as keyof typeof wordings] };
  }
  return null;
}

function between(text: string, wording: string): string | null {
  const [before = "", after = ""] = wording.split("{s}");
  const fits = text.startsWith(before) && text.endsWith(after) && text.length > before.length + after.length;
  return fits ? text.slice(before.length, text.length - after.length) : null;
}

/** The team: a manager who plans and sends the search agent for one fact after the other, and a verifier. */
export function lookUpTeam(): Record<"manager" | "search" | "verifier" | "reflector", Specialist> {
  return {
    manager: (request) => manage(request),
    search: ({ messages }) => {
      const [, relation, subject] = /^Find the (.+) of (.+)\.$/.exec(ownTask(messages, "search_agent"))!;
      const found = ownResults(messages, "wiki_search").at(-1);
      if (found === undefined) return { toolCalls: [{ name: "wiki_search", input: { query: subject } }] };
      return { text: `the ${relation} is ${stated(found, relation as keyof typeof wordings) ?? "not there"}` };
    },
    verifier: () => ({ text: "The score this time is:4" }),
    reflector: () => ({ text: "information_conflict : Good\ntool_effectiveness : Good\ntrajectory_monitoring : Good" }),
  };
}

function manage({ messages }: ChatRequest): ReturnType<Specialist> {
  const asked = understand(questionIn(messages) ?? "");
  if (!asked) return { text: "unknown" };
  const { subject, relations } = asked;
  const values = transcriptEvents(messages).flatMap((one) =>
    one.type === "delegation" ? [one.report.replace(/^the .+? is /, "")] : [],
  );
  if (messages.length <= 2)
    return {
      text: relations.map((relation, at) => `${at + 1}. ${relation} of ${at === 0 ? subject : `#${at}`}`).join("\n"),
    };
  if (values.length >= relations.length)
    return { reasoning: `the ${relations.at(-1)} is ${values.at(-1)}`, text: values.at(-1)! };
  const about = values.at(-1) ?? subject;
  const reasoning = values.length > 0 ? `the ${relations[values.length - 1]} is ${about}` : "look it up";
  return {
    reasoning,
    toolCalls: [{ name: "search_agent", input: { task: `Find the ${relations[values.length]} of ${about}.` } }],
  };
}

/** The value that a text states for a relation of its subject, in any wording. */
function stated(text: string, relation: keyof typeof wordings): string | null {
  const value = "([A-Z][a-z]+(?: [A-Z][a-z]+)?|\\d+)";
  for (const wording of wordings[relation].says) {
    const found = new RegExp(
      capitalised(fill(wording, called(text), "@"))
        .replaceAll(".", "\\.")
        .replace("@", value),
    ).exec(text);
    if (found) return found[1]!;
  }
  return null;
}
