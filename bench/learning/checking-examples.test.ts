import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createWorld } from "../../src/lab/create-world.ts";
import { relationNamed, statedValue } from "../../src/lab/relations.ts";
import { checkingExamples } from "./checking-examples.ts";

describe("checkingExamples", () => {
  it("score 4 what the pages say and 3 what was misread, about half of each", () => {
    const rights: boolean[] = [];
    for (const { segments } of checkingExamples(createWorld({ seed: 3, pages: 60 }))) {
      const pages = segments.slice(0, 2).map(({ text }) => text);
      let read: string[] = [];
      for (const [at, { tag, text }] of segments.entries()) {
        const [, relation, value] = /^ the (.+) is (.+)$/.exec(text) ?? [];
        if (tag === "think" && value && relation !== "result") read.push(`${relation} ${value}`);
        if (tag !== "double_check") continue;
        const says = (page: string, one: string) =>
          statedValue(page, relationNamed(one.replace(/ [\dA-Z].*$/, ""))!) === /[\dA-Z].*$/.exec(one)![0];
        const numbers = read.map((one) => /\d+$/.exec(one)?.[0]);
        const copied = segments[at - 5]?.tag === "code" ? segments[at - 5]!.text : ` print(${numbers.join(" + ")})`;
        // A value of a sum belongs to the page at its place; a single one may be of either.
        const right =
          read.length === 2
            ? read.every((one, page) => says(pages[page]!, one)) && copied === ` print(${numbers.join(" + ")})`
            : pages.some((page) => says(page, read[0]!));
        if (text === " score 4") assert.ok(right, JSON.stringify(segments.slice(at - 6, at + 1)));
        rights.push(text === " score 4");
        assert.match(text, /^ score [34]$/);
        read = [];
      }
    }
    const wrong = rights.filter((right) => !right).length / rights.length;
    assert.ok(wrong > 0.3 && wrong < 0.6, `${wrong} of ${rights.length} misread`);
  });
});
