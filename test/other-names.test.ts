/** Training worlds under other names: they may teach where a name ends, and nothing that the exam with longer names asks. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withOtherNames } from "../bench/learning/other-names.ts";
import { teamChain } from "../bench/learning/team-chain.ts";
import { seededRandom } from "../src/base/work/random.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";

const own = createWorld({ seed: 3, pages: 200 });
const other = withOtherNames(own, seededRandom("other names", 1), 0.8);
const words = (world: typeof own) => new Set(world.entities.flatMap(({ name }) => name.split(" ")));

describe("a world under other names", () => {
  it("has no word of more than six letters or three syllables, and none that a test world could have", () => {
    const before = words(own);
    const made = [...words(other)].filter((word) => !before.has(word));
    assert.ok(made.length > before.size / 2, `${made.length}`);
    for (const word of made) {
      assert.match(word, /^[A-Z][a-z]{1,5}$/);
      assert.ok(word.match(/[aeiou]/gi)!.length <= 3, word);
      assert.doesNotMatch(word, /^(?:[^aeiou][aeiou]){3}$/i);
    }
    assert.ok(new Set(made.map((word) => word.length)).size === 5);
  });

  it("keeps what is true: a name for a name everywhere, and the team answers there", async () => {
    assert.equal(words(other).size, words(own).size);
    assert.equal(other.homonyms.size, own.homonyms.size);
    for (const entity of other.entities) {
      assert.equal(other.byPage.get(entity.page), entity);
      for (const { value, to } of entity.facts) {
        if (!to) continue;
        assert.equal(to.name, value);
        assert.ok(other.entities.includes(to));
      }
    }
    const tools = memoryLabTools(other);
    const chains = await Promise.all(worldTasks(other, { count: 10 }).map((task) => teamChain(task, tools)));
    assert.ok(chains.filter((chain) => chain !== undefined).length >= 9);
  });
});
