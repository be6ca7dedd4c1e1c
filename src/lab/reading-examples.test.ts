import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createWorld } from "./create-world.ts";
import { isReadingQuestion, readingExamples } from "./reading-examples.ts";
import { relationNamed, statedValue } from "./relations.ts";

describe("readingExamples", () => {
  it("asks for all that a page says and for something it does not, and every reply is what the page says", () => {
    const world = createWorld({ seed: 3, pages: 60 });
    const examples = readingExamples(world);
    assert.equal(examples.length, 60);
    for (const { segments } of examples) {
      const [page, ...turns] = segments;
      let missing = 0;
      for (let at = 0; at < turns.length; at += 2) {
        const [question, reply] = [turns[at]!, turns[at + 1]!];
        assert.deepEqual([isReadingQuestion(question), isReadingQuestion(reply)], [true, false]);
        const name = question.text.replace(" read the ", "");
        const value = statedValue(page!.text, relationNamed(name)!);
        if (value === null) missing++;
        assert.ok(
          reply.text.startsWith(value === null ? ` no ${name}, it is a ` : ` the ${name} is ${value}`),
          reply.text,
        );
      }
      assert.equal(missing, 1);
    }
  });
});
