import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "../core/task.ts";
import { mineFailures } from "./mine-failures.ts";

const propose = (step: number, round: number, count: number) =>
  Array.from({ length: count }, (_, at) => defineTask({ id: `${step}.${round}.${at}`, question: "?", answers: ["1"] }));
const numberOf = (id: string) => Number(id.split(".").at(-1));

describe("mineFailures", () => {
  it("takes greedy failures first and keeps a share of other tasks", async () => {
    const tasks = await mineFailures({ propose, solves: async ({ id }) => numberOf(id) % 2 === 0 })(3, 1, 8);
    assert.equal(tasks.length, 8);
    assert.equal(tasks.filter(({ id }) => numberOf(id) % 2 === 1).length, 6);
    assert.ok(tasks.every(({ id }) => id.startsWith("3.1.")));
  });

  it("fills up with solved tasks where too few fail, and with failed ones where too few are solved", async () => {
    const few = await mineFailures({ propose, solves: async ({ id }) => numberOf(id) > 0 })(0, 0, 4);
    assert.equal(few.length, 4);
    assert.equal(few.filter(({ id }) => numberOf(id) === 0).length, 1);
    assert.equal((await mineFailures({ propose, solves: async () => false })(0, 0, 4)).length, 4);
  });
});
