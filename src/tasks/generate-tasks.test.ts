import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatModel } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import { taskSchema } from "../core/task-schema.ts";
import { asChatModel } from "../team/role.ts";
import { generateTasks, holds, plain, type Rejection } from "./generate-tasks.ts";

const documents = [
  { id: "a", title: "Lake Orm", text: "Lake Orm lies in Vell. Its depth is 93 metres." },
  { id: "b", title: "Ada Finch", text: "Ada Finch was born beside Lake Orm. She wrote eleven plays." },
  { id: "c", title: "Vell", text: "Vell has a bridge built in 1904." },
];

/** Writes what a model would write for these documents; `spoil` replaces a reply. */
function writer(spoil: (content: string) => string | undefined = () => undefined): ChatModel {
  return asChatModel(({ messages }) => {
    const content = messages[1]!.content;
    const spoiled = spoil(content);
    if (spoiled !== undefined) return spoiled;
    if (content.startsWith("First question"))
      return JSON.stringify({ question: "How deep is Lake Orm, and how many plays did Ada Finch write?" });
    if (content.includes('Describe "Lake Orm"'))
      return '{"clue": "the lake beside which Ada Finch was born", "evidence": "Ada Finch was born beside Lake Orm."}';
    if (content.includes("Describe")) return '{"clue": null}';
    const tasks = {
      "Lake Orm": {
        question: "How deep is Lake Orm?",
        answer: "93 metres",
        subject: "Lake Orm",
        evidence: "Its depth is 93 metres.",
      },
      "Ada Finch": {
        question: "How many plays did Ada Finch write?",
        answer: "eleven",
        subject: "Ada Finch",
        evidence: "She wrote eleven plays.",
      },
      Vell: {
        question: "When was the bridge of Vell built?",
        answer: "1904",
        subject: "Vell",
        evidence: "Vell has a bridge built in 1904.",
      },
    };
    const title = /^Text of "(.+?)"/.exec(content)![1] as keyof typeof tasks;
    return `Here you are:\n\`\`\`json\n${JSON.stringify({ tasks: [tasks[title]] })}\n\`\`\``;
  });
}

async function generate(model: ChatModel) {
  const rejections: Rejection[] = [];
  const tasks: Task[] = [];
  for await (const task of generateTasks(documents, { model, width: 1, onRejected: (one) => rejections.push(one) }))
    tasks.push(task);
  return { tasks, rejections };
}

describe("generateTasks", () => {
  it("writes atomic tasks, one look-up deeper, and merged ones", async () => {
    const { tasks, rejections } = await generate(writer());
    for (const task of tasks) taskSchema.parse(task);
    const listed = tasks.map((task) => [task.family, task.question, task.answers[0]]);
    assert.deepEqual(listed, [
      ["atomic", "How deep is Lake Orm?", "93 metres"],
      ["depth", "How deep is the lake beside which Ada Finch was born?", "93 metres"],
      ["atomic", "How many plays did Ada Finch write?", "eleven"],
      ["width", "How deep is Lake Orm, and how many plays did Ada Finch write?", "93 metres | eleven"],
      ["atomic", "When was the bridge of Vell built?", "1904"],
    ]);
    assert.deepEqual(tasks[1]!.documents, ["a", "b"]);
    assert.deepEqual(
      rejections.map((one) => one.reason),
      ["no other document mentions Ada Finch", "the text does not single it out"],
    );
  });

  it("throws away what the page does not support, with the reason", async () => {
    const spoil = (changes: object) => (content: string) =>
      content.startsWith('Text of "Vell"') && content.includes("Write 2")
        ? JSON.stringify({
            tasks: [
              {
                question: "When was the bridge of Vell built?",
                answer: "1904",
                subject: "Vell",
                evidence: "Vell has a bridge built in 1904.",
                ...changes,
              },
            ],
          })
        : undefined;
    for (const [changes, reason] of [
      [{ evidence: "The bridge of Vell is from 1904." }, "the evidence does not stand in the text"],
      [{ answer: "1905" }, "the evidence does not state the answer"],
      [{ question: "Was the bridge of Vell built in 1904?" }, "the question gives the answer away"],
      [{ question: "When was the bridge built?" }, "the question does not name its subject"],
      [{ question: "When does the text say Vell got a bridge?" }, "the question points at the text"],
      [{ answer: " " }, "question or answer is empty"],
    ] as const) {
      const { tasks, rejections } = await generate(writer(spoil(changes)));
      assert.ok(
        rejections.some((one) => one.kind === "atomic" && one.reason === reason),
        reason,
      );
      assert.ok(tasks.every((task) => !task.question.includes("bridge")));
    }
  });

  it("asks again for a broken reply, and gives up after the second", async () => {
    let calls = 0;
    const once = await generate(
      writer((content) => (content.startsWith('Text of "Vell"') && calls++ === 0 ? "sorry" : undefined)),
    );
    assert.ok(once.tasks.some((task) => task.question.includes("bridge")));
    const never = await generate(
      writer((content) => (content.startsWith('Text of "Vell"') ? '{"tasks": 3}' : undefined)),
    );
    assert.match(
      never.rejections.find((one) => one.documentId === "c" && one.kind === "atomic")!.reason,
      /another shape/,
    );
  });

  it("never keeps a clue that names the thing, or a merged question that lost one", async () => {
    const naming = await generate(
      writer((content) =>
        content.includes('Describe "Lake Orm"') ? '{"clue": "Lake Orm of Ada Finch", "evidence": "x"}' : undefined,
      ),
    );
    assert.ok(naming.rejections.some((one) => one.reason === "the clue names the thing itself"));
    const losing = await generate(
      writer((content) => (content.startsWith("First") ? '{"question": "How deep is Lake Orm?"}' : undefined)),
    );
    assert.ok(losing.rejections.some((one) => one.reason === "a subject got lost"));
    assert.ok(losing.tasks.every((task) => task.family !== "width"));
  });

  it("writes each question once, within a run and beside what exists already", async () => {
    const twice = [...documents, { ...documents[2]!, id: "d" }];
    const rejections: Rejection[] = [];
    const run = (known: string[] = []) =>
      Array.fromAsync(
        generateTasks(twice, { model: writer(), known, onRejected: (one) => rejections.push(one) }),
        ({ id }) => id,
      );
    const ids = await run();
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(rejections.filter((one) => one.reason === "the question was written before").length, 1);
    assert.deepEqual(await run(ids), []);
  });

  it("compares words, not spelling", () => {
    assert.equal(plain("  Café—Müller's "), "cafe muller s");
    assert.ok(holds("Its depth is 93 metres.", "93 Metres"));
    assert.ok(!holds("It is 193 metres deep", "93 metres"));
  });
});
