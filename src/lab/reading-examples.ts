/**
 * Reading examples: a page, and one question after the other about it. Reading a value off a page is the hardest thing that
 * a chain asks of a small model, and a chain asks it two or three times in 500 tokens; a reading example five times in 120.
 * It is a trajectory like any other, in the words of the lab's chains; what the model is asked (`read the mayor`)
 * can't be foreseen and should have no weight in training.
 */

import { seededRandom } from "../base/work/random.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import type { World } from "./create-world.ts";
import { labProfile } from "./profile.ts";
import { relations, relationsOf, statedKind } from "./relations.ts";
import { pageSentences } from "./world-pages.ts";

/** One example for every page of a world: all that it says, and something that it does not. */
export function readingExamples(world: World): Trajectory[] {
  const { seed, split, variant } = world.options;
  return world.entities.map((entity) => {
    const random = seededRandom("lesson", seed, split, variant, entity.page);
    const page = pageSentences(world, entity).join(" ");
    const own = relationsOf(entity.kind);
    const missing = random.pick(relations.filter((relation) => !own.includes(relation)));
    const turns = random.shuffle([...own, missing]).flatMap((relation): Segment[] => {
      const fact = entity.facts.find((known) => known.relation === relation.name);
      const reply = fact
        ? `the ${relation.name} is ${fact.value}`
        : `no ${relation.name}, it is a ${statedKind(page)?.word}`;
      return [think(`read the ${relation.name}`), think(reply)];
    });
    const id = `reading-${seed}-${variant}-${entity.page}`;
    return {
      version: 1,
      id,
      taskId: id,
      profile: labProfile.name,
      model: "reading-examples",
      prompt: [{ role: "user", content: entity.name }],
      segments: [{ tag: "observation", text: page, by: "tool" }, ...turns],
      answer: null,
      ending: { reason: "answered" },
      violations: [],
      usage: emptyUsage(),
    };
  });
}

function think(text: string): Segment {
  return { tag: "think", text: ` ${text}`, by: "model" };
}

/** Whether a segment is the question of a reading example, which no model could foresee. */
export function isReadingQuestion(segment: Segment): boolean {
  return segment.tag === "think" && segment.text.startsWith(" read the ");
}
