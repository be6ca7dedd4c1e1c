import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { memoryJournal } from "../../../test/fixtures/memory-journal.ts";
import type { ChatModel, ChatRequest } from "../../core/model.ts";
import { defineTask } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { emptyUsage } from "../../core/usage.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { collectGroups } from "../../train/sort-groups.ts";
import { taskGrader } from "../grade-task.ts";
import { inReferenceForm, outcomeReward } from "../reward.ts";
import { judgeGrader } from "./judge-grader.ts";
import { fillPrompt, judgeNamed, judges, ownPrompt, promptHash, readAny } from "./judges.ts";

const task = defineTask({ id: "t", question: "Who wrote {answer}?", kind: "judge", answers: ["Ada"] });

function replying(text: string, finish: "stop" | "length" = "stop"): ChatModel & { asked: ChatRequest[] } {
  const asked: ChatRequest[] = [];
  return {
    name: "judge",
    asked,
    async chat(request) {
      asked.push(request);
      return { text, toolCalls: [], finish, usage: { promptTokens: 1, completionTokens: 1 } };
    },
  };
}

describe("judges by name", () => {
  const replies: [name: keyof typeof judges, text: string, correct: boolean | null, confidence?: number][] = [
    ["own", '{"rationale": "same", "judgement": "correct"}', true],
    ["afm", '```json\n{"rationale": "x", "judgement": "incorrect"}\n```', false],
    ["afm", "The two are equivalent.", null],
    ["hle", "extracted_final_answer: Ada\n\nreasoning: They match.\n\ncorrect: yes\n\nconfidence: 85%", true, 0.85],
    ["hle", "extracted_final_answer: None\nreasoning: no\n**correct**: no\nconfidence: 100", false, 1],
    ["browsecomp", "correct: yes", true, 1],
    ["browsecomp", "I think that is correct: probably", null],
    ["simpleqa", "A", true],
    ["simpleqa", "B", false],
    ["simpleqa", "C", false],
    ["simpleqa", "A: CORRECT", true],
    ["simpleqa", "**B**: INCORRECT\nIt names another year.", false],
    ["simpleqa", "A reasonable reply", null],
    ["simpleqa", "It depends", null],
    ["webwalker", "The student said Ada.\nGRADE: CORRECT", true],
    ["webwalker", "GRADE: CORRECT would be too kind.\nGRADE: INCORRECT", false],
  ];
  for (const [name, text, correct, confidence] of replies) {
    it(`${name} reads ${JSON.stringify(text).slice(0, 50)} as ${correct}`, async () => {
      const model = replying(text);
      const grade = await judgeGrader({ model, prompt: judges[name], attempts: 1 })(task, "Ada Lovelace");
      assert.equal(grade.correct, correct);
      assert.equal(grade.confidence, confidence);
      assert.equal(grade.scorer, `judge ${name} ${promptHash(judges[name])} by judge`);
      assert.equal(model.asked[0]?.maxTokens, undefined, "a reasoning judge is not cut off");
    });
  }

  it("puts question, gold and answer in once, whatever they contain", () => {
    const values = { question: "{answer}?", gold: "{question}", answer: "{gold} $& $1" };
    assert.equal(
      fillPrompt({ ...judges.own, template: "{question}|{gold}|{answer}|{other}" }, values),
      "{answer}?|{question}|{gold} $& $1|{other}",
    );
    for (const prompt of Object.values(judges)) {
      const text = fillPrompt(prompt, { question: "QQQ", gold: "GGG", answer: "AAA" });
      for (const part of ["QQQ", "GGG", "AAA"]) assert.equal(text.split(part).length, 2, `${prompt.name}: ${part}`);
    }
  });

  it("asks the model even about an exact match, except where the prompt is ours", async () => {
    const model = replying("correct: no");
    assert.equal((await judgeGrader({ model, prompt: judges.hle })(task, "Ada")).correct, false);
    assert.equal((await judgeGrader({ model: replying("?"), prompt: judges.own })(task, "Ada")).correct, true);
  });

  it("says that a reply was cut off", async () => {
    const grade = await judgeGrader({ model: replying("Let me think", "length"), attempts: 1 })(task, "x");
    assert.equal(grade.correct, null);
    assert.match(grade.reason, /cut off at its token limit/);
  });

  it("takes a prompt of the user's own, and refuses one without its places", () => {
    const own = ownPrompt("mine.txt", "Q {question} G {correct_answer} A {response}. Yes or no?");
    assert.equal(fillPrompt(own, { question: "q", gold: "g", answer: "a" }), "Q q G g A a. Yes or no?");
    assert.throws(() => ownPrompt("mine.txt", "Q {question} A {answer}"), /no place for the gold: write \{gold\}/);
    assert.throws(() => judgeNamed("nobody"), /there are: own, afm/);
    assert.equal(readAny("GRADE: CORRECT")?.correct, true);
  });
});

describe("RL with a judge over HTTP", () => {
  let server: Server;
  let baseURL = "";
  const seen = new Map<string, number>();
  before(async () => {
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        if (request.method !== "POST") return response.writeHead(404).end();
        const content = String(JSON.parse(body).messages.at(-1).content);
        const said = /answer: "(\w+)/.exec(content)?.[1] ?? "";
        const times = (seen.get(said) ?? 0) + 1;
        seen.set(said, times);
        const reply = (text: string) =>
          response
            .writeHead(200, { "content-type": "application/json" })
            .end(
              JSON.stringify({ choices: [{ message: { role: "assistant", content: text }, finish_reason: "stop" }] }),
            );
        const judgement = (word: string) => reply(JSON.stringify({ rationale: said, judgement: word }));
        if (said.startsWith("down")) response.destroy();
        else if (said.startsWith("busy")) response.writeHead(503).end("busy");
        else if (said.startsWith("prose")) reply("I would say that this is right.");
        else if (said.startsWith("late") && times === 1) reply("not yet");
        else if (said.startsWith("slow")) setTimeout(() => judgement("correct"), 200);
        else judgement(said.startsWith("wrong") ? "incorrect" : "correct");
        return undefined;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  after(() => new Promise((resolve) => server.close(resolve)));

  it("gives wrong answers 0, retries failures, excludes what stays undecided, and counts it", async () => {
    const model = openaiCompatible({ baseURL, model: "judge", retries: 0, apiKey: "x" });
    const judge = judgeGrader({ model, attempts: 2, wait: async () => {} });
    const reward = outcomeReward(taskGrader({ judge }), { attempts: 1 });
    const answers: Record<string, string[]> = {
      useful: ["slow", "wrong1", "late1", "prose"],
      hopeless: ["down", "busy", "prose", "wrong2"],
      failing: ["wrong3", "wrong4", "down", "wrong5"],
    };
    const tasks = Object.keys(answers).map((id) =>
      defineTask({ id, question: `${id}?`, kind: "judge", answers: ["Ada"] }),
    );
    const collected = await collectGroups({
      step: 0,
      seed: 1,
      groups: 3,
      samples: 4,
      maxRounds: 1,
      maxContext: 1000,
      tasks: () => tasks,
      rollout: async ({ id }, { sample }) =>
        ({
          id: `${id}-${sample}`,
          answer: answers[id]![sample],
          segments: [],
          ending: { reason: "answered" },
          usage: emptyUsage(),
        }) as unknown as Trajectory,
      reward,
      concurrency: 4,
      journal: memoryJournal(),
      finished: new Map(),
    });
    await model.close();
    assert.deepEqual(
      collected.groups.map(({ task, rollouts }) => [
        task.id,
        rollouts.map((one) => [one.trajectory.answer, one.reward]),
      ]),
      [
        [
          "useful",
          [
            ["slow", 1],
            ["wrong1", 0],
            ["late1", 1],
          ],
        ],
      ],
    );
    assert.equal(seen.get("late1"), 2, "asked again after a reply without a verdict");
    assert.equal(collected.unjudged, 5);
    assert.deepEqual([collected.droppedUnjudged, collected.droppedAllWrong, collected.droppedAllRight], [1, 1, 0]);
    assert.equal(collected.success, 2 / 7, "of the rollouts that were judged");
    const reasons = new Set(collected.dropped.map(({ reason }) => reason));
    assert.deepEqual([...reasons].sort(), ["all-wrong", "unjudged"]);
  });
});

describe("the reward's factors", () => {
  const fence = (code: string) => `<code>\n\`\`\`py\n${code}\n\`\`\`\n</code>`;
  it("knows the reference's form of code calls", () => {
    const chain = (body: string) =>
      `<plan>p</plan><think>t</think>${body}<observation>o</observation><answer>1</answer>`;
    assert.equal(inReferenceForm(chain(fence("print(1)"))), true);
    assert.equal(inReferenceForm(chain("<code>\n```py\nprint(input())\n```\n```sh\n5\n```\n</code>")), true);
    assert.equal(inReferenceForm(chain("<code>print(1)</code>")), false);
    assert.equal(inReferenceForm(chain("<code>\n```python\nprint(1)\n```\n</code>")), false);
    assert.equal(inReferenceForm(chain(`${fence("1")}<code>\n\`\`\`py\n1\n\`\`\`\nmore\n</code>`)), false);
    assert.equal(inReferenceForm(chain("")), false, "a chain without a call has no code to be in form");
    assert.equal(inReferenceForm(`${chain(fence("1"))}<think>`), false);
  });

  it("filters what was cut off, and punishes what came close", async () => {
    const chain = (tokens: number, reason: "answered" | "limit", answer: string | null = "x") =>
      ({
        answer,
        segments: [],
        ending: { reason },
        usage: { ...emptyUsage(), completionTokens: tokens },
      }) as unknown as Trajectory;
    const right = () => ({ correct: true, score: 1, reason: "" });
    const filter = outcomeReward(right, { overlong: { tokens: 800, how: "filter" } });
    const cut = await filter(chain(800, "limit", null), task);
    assert.deepEqual([cut.reward, cut.excluded], [null, "too-long"]);
    assert.equal((await filter(chain(790, "answered"), task)).reward, 1);
    const both = outcomeReward(right, { overlong: { tokens: 800, how: "both" } });
    assert.equal((await both(chain(750, "answered"), task)).reward, 0.5);
    assert.equal((await both(chain(800, "limit", null), task)).excluded, "too-long");
  });
});
