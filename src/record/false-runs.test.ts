import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Message } from "../core/message.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { importFiles } from "./import-file.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { refusedForTraining } from "./trainable.ts";

/** Programs and logs that give no run which may be trained on: each was one, with a wrong question or a wrong answer. */

const folder = await mkdtemp(join(tmpdir(), "coa-false-runs-"));
after(() => rm(folder, { recursive: true, force: true }));
const question = "Which river flows through the capital of Hungary?";
const user = (content: string): Message => ({ role: "user", content });
const agent = (content: string): Message => ({ role: "assistant", content });

let clock = 0;
function call(system: string, prompt: string | Message[], text: string): RecordedCall {
  clock += 10;
  const told: Message[] = system === "" ? [] : [{ role: "system", content: system }];
  const usage = { promptTokens: 1, completionTokens: 1 };
  const messages = [...told, ...(typeof prompt === "string" ? [user(prompt)] : prompt)];
  return {
    ...{ id: `call-${clock}`, startedAt: clock, endedAt: clock + 5, messages, tools: [], text, toolCalls: [] },
    ...usage,
    outcome: "complete",
  };
}
const inFlow = (calls: readonly RecordedCall[]) =>
  calls.map((one, index) => ({
    ...one,
    recorder: "preload" as const,
    ...(index > 0 && { after: calls[index - 1]!.id }),
  }));
const refusals = (calls: readonly RecordedCall[]) =>
  callsToRuns(calls, "wire").map((run) => refusedForTraining(run)?.split(":")[0] ?? run.answer);

describe("parts of a program", () => {
  it("are refused where agents are told who they are around one question, without instructions", () => {
    const asked = (role: string, text: string) => call("", `You are the ${role}. Task: ${question}\nBe brief.`, text);
    const parts = [
      asked("planner", "1. the capital 2. its river"),
      asked("expert", "Budapest"),
      asked("writer", "Danube"),
    ];
    assert.deepEqual(refusals(parts), ["part-of-run", "part-of-run", "part-of-run"]);
    // One app that asks the same way each time is not parts of anything.
    const others = ["Which sea is the saltiest of all?", "Which lake is the deepest of all?"];
    const app = others.map((one) => call("", `You are the expert. Task: ${one}\nBe brief.`, "It is that one."));
    assert.deepEqual(refusals(app), ["It is that one.", "It is that one."]);
  });

  it("are refused where how to answer stands in a message of its own", () => {
    const vote = (how: string, text: string) =>
      call("", [user(question), user(`Answer as ${how}, in one word.`)], text);
    assert.deepEqual(refusals([vote("an optimist", "Danube"), vote("a pessimist", "Tisza")]), [
      "part-of-run",
      "part-of-run",
    ]);
    const told = ["You are the solver.", "You are the second solver."];
    const parts = told.map((system) =>
      call(system, [user(question), user(`${system} Answer step by step.`)], "Danube"),
    );
    assert.deepEqual(refusals(parts), ["part-of-run", "part-of-run"]);
  });

  it("are refused where branches reply with a number that the last step names", () => {
    const parts = [
      call("Count the words.", "Text: one two three four five six seven", "7"),
      call("Count the words.", "Text: eight nine ten eleven twelve thirteen", "6"),
      call("Add the numbers.", "Numbers: 7, 6", "13"),
    ];
    assert.deepEqual(refusals(inFlow(parts)), ["part-of-run", "part-of-run", "part-of-run"]);
  });

  it("are tries of one run where the program asks for what it can parse", () => {
    const asked = user("Give me the price of gold as JSON.");
    for (const again of [
      "Validation feedback:\nInvalid JSON: expected value at line 1.",
      "1 validation error for Price\nprice\n  Field required\n\nFix the errors and try again.",
      "Correct your JSON ONLY RESPONSE, based on the following errors:\nprice: Field required",
      "Plain text responses are not permitted, please include your response in a tool call",
      "Could not parse the output as JSON. Reply once more.",
    ]) {
      const tries = [
        call("Reply with JSON.", [asked], "five"),
        call("Reply with JSON.", [asked, agent("five"), user(again)], '{"price":5}'),
      ];
      const runs = callsToRuns(tries, "wire");
      assert.deepEqual(
        runs.map((run) => [run.question, run.answer, run.steps.length]),
        [[asked.content, '{"price":5}', 2]],
        again,
      );
    }
  });

  it("have no known answer where a judge speaks last, in other languages and words too", () => {
    const draft = "Budapest lies on both banks of the Danube.";
    for (const [judge, verdict] of [
      ["You are the quality gate.", "SHIP IT"],
      ["Du bist der Kritiker.", "Freigegeben."],
      ["你负责审核文本。", "通过"],
    ] as const) {
      const parts = [call("You are the writer.", question, draft), call(judge, `Text: ${draft}`, verdict)];
      assert.deepEqual(refusals(parts), ["answer-unknown"], judge);
    }
  });
});

describe("logs of agents that call tools by their words", () => {
  const imported = async (messages: readonly Message[], more: object = {}) => {
    const file = join(folder, `${clock++}.jsonl`);
    await writeFile(file, `${JSON.stringify({ messages, ...more })}\n`);
    return importFiles([file]);
  };
  const protocols: Record<string, [call: string, result: string, answer: string]> = {
    "tool tags": ["<tool>search</tool><tool_input>capital</tool_input>", "<observation>Budapest</observation>", "<final_answer>Danube</final_answer>"], // biome-ignore format: one protocol a line
    "function tags": ['<function=search>{"q":"capital"}</function>', "Budapest", "The Danube."],
    "Mistral's mark": ['[TOOL_CALLS][{"name":"search","arguments":{"q":"capital"}}]', "Budapest", "The Danube."],
    "Qwen's marks": ['✿FUNCTION✿: search\n✿ARGS✿: {"q":"capital"}', "✿RESULT✿: Budapest", "The Danube."],
    "other headings": ["TOOL: search\nINPUT: capital of Hungary", "RESULT: Budapest", "FINAL: Danube"],
    "bold headings": ["**Thought:** look\n**Action:** search\n**Action Input:** x", "**Observation:** y", "**Final Answer:** z"], // biome-ignore format: one protocol a line
    "small headings": ["thought: look\naction: search\naction input: x", "observation: y", "final answer: z"],
    "Chinese headings": ["思考：需要首都。\n行动：search\n行动输入：首都", "观察：布达佩斯", "最终答案：多瑙河"],
    "JSON alone": ['{"tool": "search", "input": "capital"}', '{"result": "Budapest"}', '{"final": "Danube"}'],
    "a call alone": ["search('capital of Hungary')", "Budapest", "finish('Danube')"],
    "commands in fences": ["DISCUSSION\nLet us look.\n```\nls -a\n```", "a.py\nb.py", "DISCUSSION\nDone.\n```\nsubmit\n```"], // biome-ignore format: one protocol a line
  };
  for (const [name, [asks, result, answer]] of Object.entries(protocols)) {
    it(`are refused where they are not read: ${name}`, async () => {
      for (const run of await imported([user(question), agent(asks), user(result), agent(answer)]))
        assert.match(refusedForTraining(run) ?? run.answer ?? "", /unread-protocol/);
    });
  }

  it("are read where calls are JSON under a heading, or have roles of their own", async () => {
    const fence = (action: string, input: string) =>
      agent(`Thought: so\nAction:\n\`\`\`\n${JSON.stringify({ action, action_input: input })}\n\`\`\``);
    const [structured] = await imported([
      user(question),
      fence("search", "capital"),
      user("Observation: Budapest"),
      fence("Final Answer", "Danube"),
    ]);
    const conversations = [
      { from: "human", value: question },
      { from: "function_call", value: '{"name":"search","arguments":{"input":"capital"}}' },
      { from: "observation", value: "Budapest" },
      { from: "gpt", value: "Danube" },
    ];
    const file = join(folder, "roles.jsonl");
    await writeFile(file, `${JSON.stringify({ conversations })}\n`);
    for (const run of [structured!, ...(await importFiles([file]))]) {
      assert.deepEqual(
        run.steps.flatMap(({ toolCalls }) => toolCalls.map((one) => [one.name, one.arguments, one.result])),
        [["search", '{"input":"capital"}', "Budapest"]],
      );
      assert.deepEqual([run.question, run.answer, refusedForTraining(run)], [question, "Danube", null]);
    }
  });

  it("do not take a critic's agreement for the answer of a chat that shows no instructions", async () => {
    const named = (name: string, content: string) => ({ ...agent(content), name });
    const said = [named("solver", "It must be the river Danube there."), named("critic", "I agree.")];
    const [run] = await imported([user(question), named("planner", "First the capital, then its river."), ...said]);
    assert.match(refusedForTraining(run!) ?? run!.answer ?? "", /answer-unknown/);
  });
});
