import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "../core/task.ts";
import { taskIndex } from "./task-index.ts";

const mayor = defineTask({ id: "t1", question: "Who is the mayor of Ulm?", answers: ["Ada"] });
const river = defineTask({ id: "t2", question: "Which river flows through the city of Ulm?", answers: ["Danube"] });
const index = taskIndex([mayor, river]);

describe("taskIndex", () => {
  it("finds a task by id, and by its question whatever case and white space it is asked in", () => {
    assert.equal(index.find("t1", "something else"), mayor);
    assert.equal(index.find("run-17", "  who is the\n mayor of ULM? "), mayor);
    assert.equal(index.find(undefined, '"Who is the mayor of Ulm?"'), mayor);
    assert.equal(index.find(undefined, "Who is the mayor of Bonn?"), undefined);
  });

  it("finds a question inside a longer prompt where it is the only one", () => {
    const prompt = (text: string) => `Answer with one word. ${text} Think first.`;
    assert.equal(index.find(undefined, prompt(river.question)), river);
    assert.equal(index.find(undefined, prompt(`${river.question} ${mayor.question}`)), undefined);
  });

  it("does not choose between two tasks that ask the same", () => {
    const twice = taskIndex([mayor, { ...mayor, id: "t3", answers: ["Bob"] }]);
    assert.equal(twice.find(undefined, mayor.question), undefined);
    assert.equal(twice.find("t3", mayor.question)?.answers[0], "Bob");
  });
});
