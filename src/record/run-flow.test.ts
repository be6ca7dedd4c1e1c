import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Message } from "../core/message.ts";
import type { TeamRun } from "../core/team-run.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { runTree, summariseRun } from "./run-summary.ts";

let clock = 0;

function call(
  system: string,
  prompt: string | Message[],
  text: string,
  more: Partial<RecordedCall> = {},
): RecordedCall {
  clock += 10;
  const messages = typeof prompt === "string" ? [{ role: "user" as const, content: prompt }] : prompt;
  return {
    id: `call-${clock}`,
    startedAt: clock,
    endedAt: clock + 5,
    messages: [{ role: "system", content: system }, ...messages],
    tools: [],
    text,
    toolCalls: [],
    promptTokens: 10,
    completionTokens: 5,
    outcome: "complete",
    ...more,
  };
}

/** Calls as a recorder inside the process sees them, each after the one before. */
const inFlow = (...calls: RecordedCall[]) =>
  calls.map((one, index) => ({
    ...one,
    recorder: "preload" as const,
    ...(index > 0 && one.after === undefined && { after: calls[index - 1]!.id }),
  }));
const names = (run: TeamRun | undefined) => run?.agents.map(({ name, handoffFrom = "" }) => `${name}<${handoffFrom}`);
const reasons = (run: TeamRun | undefined) => run?.completeness.untrainable?.map(({ reason }) => reason) ?? [];

describe("runs as flows", () => {
  const question = "Which river flows through the capital of Hungary?";

  it("follows a router, whose reply the next prompt does not repeat", () => {
    const calls = [
      call("You are the router.", question, "geography"),
      call("You are the geographer.", question, "The Danube."),
    ];
    const [run, ...others] = callsToRuns(inFlow(...calls), "wire");
    assert.equal(others.length, 0);
    assert.deepEqual([names(run), run?.answer, reasons(run)], [["router<", "geographer<agent-1"], "The Danube.", []]);
    // Without the flow the two can't be told from two apps that were asked the same.
    assert.deepEqual(callsToRuns(calls, "wire").map(reasons), [["part-of-run"], ["part-of-run"]]);
  });

  it("follows what an orchestrator gave to its workers, and where their work comes together", () => {
    const tasks = ["Find out which city is the capital of Hungary.", "Find out which rivers there are in Hungary."];
    const found = [
      "The capital of Hungary is Budapest, on both banks.",
      "The rivers of Hungary are the Danube and the Tisza.",
    ];
    const [run, ...others] = callsToRuns(
      [
        call("You are the orchestrator.", question, JSON.stringify({ tasks })),
        ...tasks.map((task, index) => call("You are the worker.", `Do this: ${task}`, found[index]!)),
        call("You are the writer.", `Question: ${question}\n- ${found.join("\n- ")}`, "It is the Danube."),
      ],
      "wire",
    );
    assert.equal(others.length, 0);
    assert.deepEqual(names(run), ["orchestrator<", "worker<agent-1", "worker<agent-1", "writer<agent-3"]);
    assert.deepEqual([run?.agents[3]?.joins, run?.answer, reasons(run)], [["agent-2"], "It is the Danube.", []]);
    assert.deepEqual(run?.completeness.inferred, ["run", "links"]);
    assert.match(runTree(run!), /writer .*\(read worker too\)/);
    assert.equal(summariseRun(run!).handoffs.length, 4);
  });

  it("keeps identical tasks apart whose branches come together, where the flow says which", () => {
    const views = ["From the side of cost it is the better one.", "From the side of risk it is the better one."];
    const asked = "Should the bridge be built of steel?";
    const task = (name: string) => {
      const known = (step: number) => ({
        id: `${name}${step}`,
        responseId: `${name}${step}`,
        recorder: "preload" as const,
      });
      return [
        call("You are the cost reviewer.", asked, views[0]!, known(0)),
        call("You are the risk reviewer.", asked, views[1]!, known(1)),
        call("You are the writer.", `${asked}\n${views.join("\n")}`, "Yes.", {
          ...known(2),
          after: `${name}1`,
          joins: [`${name}0`],
        }),
      ];
    };
    const [one, other] = [task("a"), task("b")];
    const together = [0, 1, 2]
      .flatMap((step) => [one[step]!, other[step]!])
      .map((each, index) => ({
        ...each,
        startedAt: 10_000 + 10 * index,
        endedAt: 10_005 + 10 * index,
      }));
    const runs = callsToRuns(together, "wire");
    assert.deepEqual(
      runs.map(({ steps }) => steps.map(({ responseId }) => responseId)),
      [
        ["a0", "a1", "a2"],
        ["b0", "b1", "b2"],
      ],
    );
    assert.deepEqual(runs.map(reasons), [[], []]);
    assert.deepEqual(runs[0]?.completeness.inferred, undefined);
    const unknown = together.map(({ after: _after, joins: _joins, ...rest }) => rest);
    assert.deepEqual([...new Set(callsToRuns(unknown, "wire").flatMap(reasons))], ["part-of-run"]);
  });

  it("keeps tasks apart that one process does one after the other, and refuses what may be either", () => {
    const ask = (text: string, said: string) => call("You are the helper.", text, said);
    const apart = callsToRuns(
      inFlow(ask("How high is Triglav?", "2,864 m."), ask("Who wrote Faust?", "Goethe.")),
      "wire",
    );
    assert.deepEqual(
      apart.map(({ answer }) => answer),
      ["2,864 m.", "Goethe."],
    );
    assert.deepEqual(apart.map(reasons), [[], []]);
    const either = callsToRuns(inFlow(ask("Name a city.", "Oslo"), ask("How many live in Oslo now?", "Many.")), "wire");
    assert.deepEqual(either.map(reasons), [["part-of-run"], ["part-of-run"]]);
  });

  it("tells the same task once more from another try of it", () => {
    const ask = (said: string, more: Partial<RecordedCall> = {}) =>
      call("You are the helper.", "Name a large river.", said, more);
    const found = (...calls: RecordedCall[]) =>
      [callsToRuns(inFlow(...calls), "wire"), callsToRuns(calls, "wire")].map((runs) =>
        runs.map((run) => [run.answer, run.steps.length, reasons(run)]),
      );
    // Samples of one question: each was given back, as far as can be known, by either way.
    const thrice = ["Danube.", "Nile.", "Danube."].map((river) => [river, 1, []]);
    assert.deepEqual(found(ask("Danube."), ask("Nile."), ask("Danube.")), [thrice, thrice]);
    // A reply in another form than the next was thrown away.
    const json = '{"river": "Nile"}';
    const refused = ["The river: Nile", 1, ["part-of-run"]];
    assert.deepEqual(found(ask("The river: Nile"), ask(json)), [[[json, 2, []]], [refused, [json, 1, []]]]);
    const asked = { settings: { responseFormat: { type: "json_object" } } };
    assert.deepEqual(found(ask("Nile", asked), ask("Danube", asked))[0], [["Danube", 2, []]]);
    assert.deepEqual(found(ask("The Ni", { finish: "length" }), ask("The Nile."))[0]?.length, 1);
    // A team that was given one task twice and took more steps the second time: both are whole.
    const team = (...said: string[]) =>
      said.map((text, at) =>
        at === 0 ? ask(text) : call(`You are writer ${at}.`, `Write it up: ${said[at - 1]}`, text),
      );
    const once = team("The Nile is 6,650 km long, they say.", "Of all rivers the Nile is the longest.");
    const more = team(
      "The Amazon is 6,400 km long, they say.",
      "The Amazon is the widest river.",
      "The Amazon is wide.",
    );
    const [two] = found(...once, ...more);
    assert.deepEqual(two?.map(([, steps, why]) => `${steps} ${String(why)}`), ["2 ", "3 "]); // biome-ignore format: one line
  });

  it("keeps tasks apart that begin with several agents at once, whichever of them is first", () => {
    const task = (city: string, order: string[], after?: string) => {
      const views = order.map((side) =>
        call(
          `You are the ${side} reviewer.`,
          `How large is ${city} today?`,
          `By ${side}, ${city} is rather large today.`,
          {
            recorder: "preload",
            ...(after && { after }),
          },
        ),
      );
      const joined = views.map(({ text }) => text).join("\n");
      const [one, ...joins] = views.map(({ id }) => id);
      return [
        ...views,
        call("You are the writer.", joined, `${city} is large.`, { recorder: "preload", after: one!, joins }),
      ];
    };
    const first = task("Oslo", ["cost", "risk"]);
    const runs = callsToRuns([...first, ...task("Lima", ["risk", "cost"], first.at(-1)!.id)], "wire");
    assert.deepEqual(
      runs.map((run) => [run.answer, run.steps.length, reasons(run)]),
      [
        ["Oslo is large.", 3, []],
        ["Lima is large.", 3, []],
      ],
    );
  });

  it("goes on with an agent that a framework starts for each of its turns, and takes its leader's word for the answer", () => {
    const hint = (name: string, serial: number) => ({ runId: "r", agent: { id: `${name}-${serial}`, name } });
    const transfer = (id: string, to: string) => [{ id, name: `transfer_to_${to}`, arguments: "{}" }];
    const told = "You are the manager. Hand off to the researcher, then answer. End with APPROVE.";
    const handed: Message[] = [
      { role: "user", content: question },
      { role: "assistant", content: "I ask.", toolCalls: transfer("t1", "researcher") },
      { role: "tool", toolCallId: "t1", content: "Transferred to researcher." },
    ];
    const report = "The river of Budapest is the Danube, I found.";
    const [run] = callsToRuns(
      [
        call(told, question, "I ask.", { ...hint("manager", 1), toolCalls: transfer("t1", "researcher") }),
        call("You are the researcher.", handed, report, {
          ...hint("researcher", 2),
          toolCalls: transfer("t2", "manager"),
        }),
        call(
          told,
          [...handed, { role: "user", content: report, name: "researcher" }],
          "The Danube. APPROVE",
          hint("manager", 3),
        ),
      ],
      "wire",
    );
    assert.deepEqual(
      [names(run), run?.answer, reasons(run)],
      [["manager<", "researcher<agent-1"], "The Danube. APPROVE", []],
    );
  });

  it("joins calls of frameworks that a program wires together, and keeps the turns of a chat apart", () => {
    const facts = "The capital of Hungary is Budapest, on both banks.";
    const within = (scope: string, name: string) => ({ scope, agent: { id: name, name } });
    const wired = inFlow(
      call("You are the researcher.", question, facts, within("a", "researcher")),
      call("You are the writer.", `${question}\nFacts: ${facts}`, "The Danube.", within("b", "writer")),
    );
    const [run, ...others] = callsToRuns(wired, "wire");
    assert.equal(others.length, 0);
    assert.deepEqual([names(run), run?.answer, reasons(run)], [["researcher<", "writer<agent-1"], "The Danube.", []]);
    const chat: Message[] = [
      { role: "user", content: question },
      { role: "assistant", content: facts },
      { role: "user", content: "And how many people live there?" },
    ];
    const turns = callsToRuns(
      inFlow(call("You help.", question, facts, { scope: "a" }), call("You help.", chat, "Many.", { scope: "b" })),
      "wire",
    );
    assert.deepEqual(
      turns.map((turn) => [turn.id, turn.answer, reasons(turn)]),
      [
        ["a", facts, []],
        ["b", "Many.", []],
      ],
    );
  });

  it("takes what a framework gave back for the answer", () => {
    const code = [{ id: "t1", name: "python_interpreter", arguments: 'final_answer(f"{6 * 7}")' }];
    const asked = call("You write code.", question, "I compute.", { scope: "a", recorder: "preload", toolCalls: code });
    const given = { ...call("", [], "42", { scope: "a" }), messages: [], given: true as const };
    assert.deepEqual(callsToRuns([asked], "wire").map(reasons), [["no-content", "no-answer"]]);
    const [run] = callsToRuns([asked, given], "wire");
    assert.deepEqual(
      [run?.answer, run?.steps.length, run?.steps[0]?.toolCalls[0]?.result, reasons(run)],
      ["42", 1, "42", []],
    );
  });

  it("joins who was handed a message, and what was glued to other words, though no id says so", () => {
    const message = "Find the river of the capital of Hungary.";
    const moved = [
      { id: "t1", name: "handoff_to_agent", arguments: JSON.stringify({ agent_name: "solver", message }) },
    ];
    const passed: Message[] = [
      { role: "user", content: question },
      { role: "assistant", content: "I pass it on.", toolCalls: moved },
      { role: "tool", toolCallId: "t1", content: "Handing off to solver." },
    ];
    const handed = callsToRuns(
      [
        call("You are the manager.", question, "I pass it on.", { toolCalls: moved }),
        call("You are the manager.", passed, "The solver has it."),
        call("You are the solver.", `Handoff Message: ${message}\nUser Request: ${question}`, "The Danube."),
      ],
      "wire",
    );
    assert.deepEqual(
      handed.map((run) => [names(run), run.answer, reasons(run)]),
      [[["manager<", "solver<agent-1"], "The Danube.", []]],
    );
    const facts = "The capital of Hungary is Budapest, on both banks.";
    const glued = callsToRuns(
      [
        call("You are the finder.", question, facts),
        call("You are the writer.", `Facts: (found)${facts}`, "The Danube."),
      ],
      "wire",
    );
    assert.deepEqual(glued.map(names), [["finder<", "writer<agent-1"]]);
  });

  it("needs results of tools that are only called like a transfer", () => {
    const paid = [{ id: "t1", name: "transfer_funds", arguments: "{}" }];
    const asked: Message[] = [{ role: "user", content: question }];
    const more: Message[] = [...asked, { role: "assistant", content: "I pay.", toolCalls: paid }];
    const runs = callsToRuns(
      [call("You are the clerk.", asked, "I pay.", { toolCalls: paid }), call("You are the clerk.", more, "Paid.")],
      "wire",
    );
    assert.deepEqual(runs.map(reasons), [["no-content"]]);
  });

  it("refuses several user turns of agents that only their words tie together", () => {
    const said = (user: string, ...rest: string[]): Message[] => [
      { role: "user", content: user },
      ...rest.map((content, at): Message => ({ role: at % 2 === 0 ? "assistant" : "user", content })),
    ];
    const [order, report, next] = ["Find the river.", "The river of Budapest is the Danube.", "Say it in one word."];
    const runs = callsToRuns(
      [
        call("You instruct.", said("Begin with the first instruction."), order!),
        call("You solve.", said(order!), report!),
        call("You instruct.", said("Begin with the first instruction.", order!, report!), next!),
      ],
      "wire",
    );
    assert.ok(runs.every((run) => reasons(run).length > 0));
  });

  it("keeps tasks apart that only the instructions tell", () => {
    const begin = "Now start to give me instructions one by one.";
    const told = (task: string) => `You instruct. Here is the task: ${task} Never forget our task!`;
    const runs = callsToRuns(
      inFlow(
        call(told("Name the river."), begin, "Instruction: say Danube.", { scope: "a" }),
        call(told("Name the city."), begin, "Instruction: say Budapest.", { scope: "b" }),
      ),
      "wire",
    );
    assert.deepEqual(
      runs.map((run) => run.question),
      ["Name the river", "Name the city"],
    );
  });

  it("marks side calls, and never takes their words for an answer", () => {
    const title = call("Generate a short title for this conversation.", question, "Rivers of Hungary");
    const [run, ...others] = callsToRuns([call("You are the guide.", question, "The Danube."), title], "wire");
    assert.equal(others.length, 0);
    assert.deepEqual(
      [run?.agents.flatMap(({ side }) => side ?? []), run?.answer, reasons(run)],
      [["title"], "The Danube.", []],
    );
    assert.match(runTree(run!), /beside the work: title/);
    const guard = call("You are a guardrail. Check the input.", "Is it allowed to ask this?", "safe");
    assert.deepEqual(callsToRuns([guard], "wire").map(reasons), [["side-call"]]);
  });

  it("never takes a guard's verdict for an answer, however the guard is told", () => {
    const reply = "The river through Budapest is the Danube.";
    const guide = call("You are the guide.", question, reply);
    const output = call("Check if the output names a river.", reply, '{"names_river": true, "reasoning": "Danube"}');
    for (const calls of [[guide, output], inFlow(guide, output)])
      assert.deepEqual(callsToRuns(calls, "wire").map(reasons), [["answer-unknown"]]);
    const input = call("Check if the user asks for homework.", question, '{"is_homework": false}');
    for (const calls of [[input, guide], inFlow(input, guide)])
      assert.ok(callsToRuns(calls, "wire").every((run) => reasons(run).length > 0 || run.answer === reply));
  });

  it("refuses runs that were asked the same at once where one call beside the work may be of each", () => {
    const select = (at: number) =>
      call("You choose. Select the next role from the list.", question, "guide", { startedAt: at, endedAt: at + 1 });
    const answer = (from: number, to: number) =>
      call("You are the guide.", question, "The Danube.", { startedAt: from, endedAt: to });
    const found = (...calls: RecordedCall[]) => callsToRuns(calls, "wire").map(reasons);
    const [side, unsure] = [["side-call"], ["part-of-run"]];
    assert.deepEqual(found(select(1), select(2), answer(10, 30), answer(20, 40)), [side, side, unsure, unsure]);
    assert.deepEqual(found(select(1), answer(10, 19), select(20), answer(30, 40)), [side, [], side, []]);
  });

  it("gives back what was judged, not the verdict", () => {
    const draft = "The river through Budapest is the Danube.";
    const judged = (verdict: string) =>
      callsToRuns(
        [
          call("You are the writer.", question, draft),
          call("You are the reviewer. Say APPROVE or what is wrong.", `Review this: ${draft}`, verdict),
        ],
        "wire",
      );
    const [approved] = judged("APPROVE");
    assert.deepEqual([approved?.answer, reasons(approved)], [draft, []]);
    assert.deepEqual(judged("It is the Danube, also called Duna.").map(reasons), [["answer-unknown"]]);
  });

  it("refuses branches that never come together", () => {
    const parts = ["Describe the north of the country in detail.", "Describe the south of the country in detail."];
    const [plan, ...work] = [
      call("You are the planner.", "Describe Italy.", parts.join("\n")),
      ...parts.map((part, index) => call("You are the worker.", part, `Part ${index}.`)),
    ];
    assert.deepEqual(callsToRuns([plan!, ...work], "wire").map(reasons), [["answer-unknown"]]);
  });

  it("does not cut a run whose id was given at what programs say in the user's name", () => {
    const said: Message[] = [
      { role: "user", content: "Instruction: name the capital." },
      { role: "assistant", content: "Solution: Budapest. Next request." },
      { role: "user", content: "Instruction: name its river." },
    ];
    const given = { runId: "r", agent: { id: "a", name: "assistant" } };
    const runs = callsToRuns(
      [
        call("You solve.", said.slice(0, 1), said[1]!.content, given),
        call("You solve.", said, "Solution: the Danube.", given),
      ],
      "wire",
    );
    assert.deepEqual(
      runs.map(({ id, steps, answer }) => [id, steps.length, answer]),
      [["r", 2, "Solution: the Danube."]],
    );
  });

  it("does not merge users because a short argument stands in the other's question", () => {
    const tool = [{ id: "t1", name: "lookup", arguments: '{"key":"Oslo"}' }];
    const asked: Message[] = [{ role: "user", content: "How many people live in Oslo?" }];
    const after: Message[] = [
      ...asked,
      { role: "assistant", content: "", toolCalls: tool },
      { role: "tool", toolCallId: "t1", content: "717,710" },
    ];
    const tools = [{ name: "lookup", parameters: {} }];
    const runs = callsToRuns(
      [
        call("You are the helper.", asked, "", { toolCalls: tool, tools }),
        call("You are the helper.", "Is Oslo in Norway or in Sweden?", "In Norway.", { tools }),
        call("You are the helper.", after, "717,710 people.", { tools }),
      ],
      "wire",
    );
    assert.deepEqual(
      runs.map(({ agents, answer }) => [agents.length, answer]),
      [
        [1, "717,710 people."],
        [1, "In Norway."],
      ],
    );
    assert.deepEqual(runs.map(reasons), [[], []]);
  });

  it("refuses runs without a question, with steps of an unread protocol, or with lost results", () => {
    const one = (prompt: Message[], text: string, more: Partial<RecordedCall> = {}) =>
      callsToRuns([call("You are the agent.", prompt, text, more)], "wire").map(reasons);
    assert.deepEqual(one([], "Oslo."), [["no-question"]]);
    assert.deepEqual(one([{ role: "user", content: "Observation: 12" }], "Twelve."), [["no-question"]]);
    const step = "Thought: I look it up.\nAction: lookup\nAction Input: {}";
    assert.deepEqual(one([{ role: "user", content: "How many?" }], step), [["unread-protocol"]]);
  });

  it("keeps 1,000 users apart that are served at once, in time that grows with their number", () => {
    const users = (count: number) => {
      const steps = Array.from({ length: 3 }, (_, step) =>
        Array.from({ length: count }, (_, user) => {
          const before = `The reply of step ${step - 1} to user ${user} is ${user * 7 + step - 1}.`;
          const prompt =
            step === 0 ? `User ${user} asks how much ${user} times seven is.` : `Go on from this: ${before}`;
          const text = `The reply of step ${step} to user ${user} is ${user * 7 + step}.`;
          return call(`You are agent ${step}.`, prompt, text, { id: `${user}/${step}`, responseId: `${user}/${step}` });
        }),
      );
      return steps.flat();
    };
    const runs = callsToRuns(users(1000), "wire");
    assert.equal(runs.length, 1000);
    for (const run of runs) {
      const ids = run.steps.map(({ responseId = "" }) => responseId.split("/"));
      assert.deepEqual(
        ids.map(([, step]) => step),
        ["0", "1", "2"],
      );
      assert.equal(new Set(ids.map(([user]) => user)).size, 1);
      assert.deepEqual(reasons(run), []);
    }
    const cost = (count: number) => {
      const calls = users(count);
      const from = process.cpuUsage();
      callsToRuns(calls, "wire");
      const { user, system } = process.cpuUsage(from);
      return user + system;
    };
    const [small, large] = [Math.min(cost(1000), cost(1000)), Math.min(cost(4000), cost(4000))];
    assert.ok(large < small * 10, `${small} and ${large} µs for four times as many users`);
  });
});
