import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { whatNext } from "../chain/moves.ts";
import { startState } from "../language/profile.ts";
import { runTeam } from "../team/run-team.ts";
import { lookUpProfile, lookUpTasks, lookUpTeam, lookUpTools, lookUpWorld } from "./look-ups.ts";

/** A question without its names: its wording. */
const wordingOf = (question: string, names: ReadonlySet<string>) =>
  [...names].reduce((text, name) => text.replaceAll(name, "_"), question);

describe("look-ups in natural text", () => {
  const world = lookUpWorld(3);
  const names = new Set(world.entities.map(({ name }) => name));
  const tasks = {
    seen: lookUpTasks(world, { count: 200, wordings: "seen" }),
    new: lookUpTasks(world, { count: 200, wordings: "new" }),
  };

  it("are answered by the team, whatever the wording", async () => {
    const tools = lookUpTools(world);
    for (const task of [...tasks.seen.slice(0, 60), ...tasks.new.slice(0, 60)]) {
      const run = await runTeam(task, { roles: lookUpTeam(), tools, verify: false });
      assert.equal(run.answer, task.answers[0], task.question);
    }
  });

  it("have wordings in tests that training never has, and names and pairs of relations as well", () => {
    const known = new Set(tasks.seen.map(({ question }) => wordingOf(question, names)));
    assert.ok(known.size > 80);
    for (const { question } of tasks.new) assert.ok(!known.has(wordingOf(question, names)), question);
    const test = lookUpWorld(3, "test");
    assert.ok(test.entities.every(({ name }) => !names.has(name)));
    const pairs = (world: typeof test) =>
      lookUpTasks(world, { count: 200, wordings: "seen" }).filter(({ family }) => family?.includes("unseen pair"));
    assert.equal(pairs(world).length, 0);
    assert.ok(pairs(test).length > 10);
  });

  it("are asked once each, under an id of their own", () => {
    for (const all of Object.values(tasks)) {
      assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
      assert.equal(new Set(all.map(({ question }) => question)).size, all.length);
    }
  });

  it("have a form in which no thought is asked for where none is needed", () => {
    assert.equal(whatNext(lookUpProfile, startState()), "Allowed next: plan.");
  });

  it("are the same for the same seed and others for another", () => {
    assert.deepEqual(lookUpTasks(lookUpWorld(3), { count: 200, wordings: "seen" }), tasks.seen);
    const others = lookUpTasks(world, { count: 200, wordings: "seen", seed: 1 }).map(({ question }) => question);
    assert.ok(others.filter((one) => tasks.seen.some(({ question }) => question === one)).length < 40);
  });
});
