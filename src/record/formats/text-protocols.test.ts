import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Message } from "../../core/message.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { distillRun } from "../../distill/distill-run.ts";
import { codeProfile } from "../../language/profiles.ts";
import { importFiles } from "../import-file.ts";
import { refusedForTraining } from "../trainable.ts";
import { readTextCall } from "./text-protocols.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-protocols-"));
after(() => rm(folder, { recursive: true, force: true }));

async function imported(...records: unknown[]): Promise<TeamRun[]> {
  const file = join(folder, `log-${records.length}.jsonl.gz`);
  await writeFile(file, gzipSync(records.map((record) => JSON.stringify(record)).join("\n")));
  return importFiles([file]);
}
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const named = (name: string, content: string) => ({ role: "user", name, content });
const callsOf = (run: TeamRun) =>
  run.steps.flatMap((step) => step.toolCalls.map((call) => [call.name, call.arguments, call.result]));

describe("logs in text protocols", () => {
  it("reads ReAct searches as calls with results, finish as the answer, the reward as feedback", async () => {
    const traj = [
      user("Where does the river end?"),
      assistant("Thought: I look it up.\nAction: search[river [north]]"),
      user("Observation: It ends in the lake."),
      assistant("Thought: Known now.\nAction: finish[the lake]"),
      user("Observation: Episode finished, reward = True"),
    ];
    const [byField, byWords] = await imported({ em: false, pred: "lake", traj }, { messages: traj });
    for (const run of [byField!, byWords!]) {
      assert.deepEqual(callsOf(run), [["search", '{"query":"river [north]"}', "It ends in the lake."]]);
      assert.equal(run.answer, "the lake");
      assert.deepEqual(
        run.steps.map(({ text, reasoning }) => [text, reasoning]),
        [
          ["I look it up.", undefined],
          ["the lake", "Known now."],
        ],
      );
      assert.equal(refusedForTraining(run), null);
    }
    assert.deepEqual(byField!.feedback, [{ name: "em", score: 0 }]);
    assert.deepEqual(byWords!.feedback, [{ name: "reward", score: 1 }]);
    assert.ok(byField!.completeness.notes.includes("read from the fields traj, pred, em"));
  });

  it("reads ReAct with Action Input and a final answer", async () => {
    const [run] = await imported({
      messages: [
        user("Sum?"),
        assistant('Thought: add\nAction: add\nAction Input: {"a": 1, "b": 2}'),
        user("Observation: 3"),
        assistant("Thought: I know it.\nFinal Answer: It is 3."),
      ],
    });
    assert.deepEqual(callsOf(run!), [["add", '{"a": 1, "b": 2}', "3"]]);
    assert.equal(run!.answer, "It is 3.");
  });

  it("leaves code alone that was not run", async () => {
    const text = "Use this:\n```python\nprint(1)\n```";
    const [run] = await imported({ messages: [user("How do I print?"), assistant(text)] });
    assert.deepEqual([run!.answer, callsOf(run!)], [text, []]);
  });

  it("reads a group chat: its agents, code with its output, the answer and outcome that the file gives", async () => {
    const code = "Let me compute.\n```python\nprint(6 * 7)\n```\nThen we see.";
    const [team, pair] = await imported(
      {
        instance_id: "t1",
        problem_statement: "What is 6 times 7?",
        other_data: { correct: true, answer: "42", given: "42" },
        trajectory: [
          named("Verifier", "What is 6 times 7?"),
          named("chat_manager", "Hello everyone."),
          named("Solver", "We multiply."),
          named("Coder", code),
          named("Verifier", "exitcode: 0 (execution succeeded)\nCode output: 42\n"),
          named("Verifier", "All agree. SOLUTION_FOUND \\boxed{42}"),
        ],
      },
      {
        history: [
          named("proxy", "What is 6 times 7?"),
          named("assistant", code),
          named("proxy", "42"),
          named("assistant", "So it is \\boxed{\\text{42}}."),
        ],
        is_correct: false,
      },
    );
    assert.deepEqual(
      team!.agents.map(({ name }) => name),
      ["Solver", "Coder", "Verifier"],
    );
    assert.deepEqual([team!.question, team!.answer, team!.taskId], ["What is 6 times 7?", "42", "t1"]);
    assert.deepEqual(team!.feedback, [{ name: "correct", score: 1 }]);
    assert.deepEqual([pair!.answer, pair!.feedback], ["\\text{42}", [{ name: "is_correct", score: 0 }]]);
    for (const run of [team!, pair!]) {
      assert.deepEqual(callsOf(run), [["python_interpreter", "print(6 * 7)", "42"]]);
      assert.equal(refusedForTraining(run), null);
      assert.equal(distillRun(run, { profile: codeProfile }).failure, undefined);
    }
    const last = team!.steps.at(-1)!.input.map((key) => team!.messages[key]!);
    assert.deepEqual(
      last.map(({ role, name }) => [role, name]),
      [
        ["user", undefined],
        ["user", "chat_manager"],
        ["user", "Solver"],
        ["user", "Coder"],
        ["assistant", "Verifier"],
      ],
    );
  });
});

const published = join(import.meta.dirname, "../../../../shared/fixtures");
describe("logs as published", {
  skip: existsSync(join(published, "real-logs")) ? false : "the published logs are not on this machine",
}, () => {
  for (const [name, runs, searches] of [
    ["react-hotpot-gpt-4", 500, 885],
    ["react-hotpot-gpt-3.5", 224, 393],
  ] as const) {
    it(`${name}: every search is a call with its result, every answer what finish says`, async () => {
      const read = await importFiles([join(published, "real-logs", `${name}.jsonl.gz`)]);
      assert.equal(read.length, runs);
      const calls = read.flatMap((run) => run.steps.flatMap((step) => step.toolCalls));
      assert.equal(calls.filter((call) => call.name === "search" && call.result !== undefined).length, searches);
      assert.equal(calls.length, searches);
      for (const run of read) {
        assert.doesNotMatch(run.answer ?? "Action:", /Action:|finish\[/);
        assert.equal(run.feedback?.length, 1);
      }
    });
  }

  it("conversations with a customer: one run each, with the reward of the whole", async () => {
    const read = await importFiles([join(published, "real-logs/tau-airline-gpt-4o.jsonl.gz")]);
    assert.equal(read.length, 68);
    assert.equal(read.filter(({ feedback }) => feedback?.[0]?.score === 1).length, 27);
    const answered = read.filter((run) => refusedForTraining(run) === null);
    assert.ok(answered.length >= 40, `${answered.length} may be trained on`);
    for (const { steps } of answered) assert.ok(steps.slice(0, -1).every(({ toolCalls }) => toolCalls.length > 0));
  });

  it("AG2 teams: every right run with an answer and code becomes a chain", async () => {
    const read = await importFiles([join(published, "ag2-team/runs.jsonl.gz")]);
    assert.equal(read.length, 2971);
    const right = read.filter(
      ({ answer, feedback, steps }) =>
        answer !== null && feedback?.[0]?.score === 1 && steps.some((step) => step.toolCalls.length > 0),
    );
    assert.ok(right.length > 2000);
    const failed = right.flatMap((run) => {
      const made = distillRun(run, { profile: codeProfile });
      return made.failure ? [`${run.id}: ${made.failure.message}`] : [];
    });
    assert.deepEqual(failed, []);
  });
});

describe("recorded calls in text protocols", () => {
  const told = (content: string): Message => ({ role: "system", content });
  const said = (messages: Message[], text: string) =>
    readTextCall({
      id: "c",
      startedAt: 1,
      endedAt: 2,
      messages,
      tools: [],
      text,
      toolCalls: [],
      promptTokens: 1,
      completionTokens: 1,
      outcome: "complete",
    });

  it("reads a reply as a call only where the prompt teaches the protocol", () => {
    const asked: Message[] = [{ role: "user", content: "How many?" }];
    const step = 'Thought: look\nAction: lookup\nAction Input: {"key": "Oslo"}';
    assert.deepEqual(said(asked, step).toolCalls, []);
    const { text, toolCalls } = said([told("Use Action: and Action Input:, then Final Answer:"), ...asked], step);
    assert.deepEqual([text, toolCalls], ["look", [{ id: "place-1", name: "lookup", arguments: '{"key": "Oslo"}' }]]);
  });

  it("reads tags of XML, several calls with their results, and smolagents' lists as Python prints them", () => {
    const asked: Message[] = [{ role: "user", content: "How many?" }];
    const calls = ["a", "b"].map((key) => `<tool_call>{"name": "look", "arguments": {"key": "${key}"}}</tool_call>`);
    const [system, , first, one, other] = said(
      [
        told("Call tools inside <tool_call></tool_call>."),
        ...asked,
        { role: "assistant", content: `Both.\n${calls.join("\n")}` },
        { role: "user", content: "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>" },
      ],
      "Three.",
    ).messages;
    assert.equal(system?.role, "system");
    assert.deepEqual(
      [first?.content, first?.toolCalls?.map((call) => call.arguments)],
      ["Both.", ['{"key":"a"}', '{"key":"b"}']],
    );
    assert.deepEqual(
      [one, other].map((message) => [message?.role, message?.content, message?.toolCallId]),
      [
        ["tool", "1", "place-1"],
        ["tool", "2", "place-2"],
      ],
    );
    const list = `[{'id': 'c9', 'type': 'function', 'function': {'name': 'look', 'arguments': {'key': "it's", 'all': True}}}]`;
    const smol = said(
      [
        told("Use final_answer."),
        ...asked,
        { role: "assistant", content: `I look.\nCalling tools:\n${list}` },
        { role: "user", content: "Observation:\nthere" },
      ],
      "Thought: done\n<code>\nfinal_answer('It\\'s 3.')\n",
    );
    assert.deepEqual(smol.messages[2]?.toolCalls, [{ id: "c9", name: "look", arguments: `{"key":"it's","all":true}` }]);
    assert.deepEqual([smol.messages[3]?.content, smol.text, smol.reasoning], ["there", "It's 3.", "done"]);
    const computed = said([told("Use final_answer."), ...asked], "Thought: sum\n<code>\nfinal_answer(1 + 2)");
    assert.deepEqual([computed.text, computed.toolCalls[0]?.arguments], ["sum", "final_answer(1 + 2)"]);
  });
});
