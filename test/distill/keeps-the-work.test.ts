import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../src/base/work/random.ts";
import type { TeamAgent, TeamRun, TeamStep } from "../../src/core/team-run.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { emptyUsage } from "../../src/core/usage.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { proposeProfile } from "../../src/distill/propose-profile.ts";
import { testSize } from "../fixtures/test-size.ts";
import { assertOrigins } from "./assert-origins.ts";

const rounds = testSize(300, 5000);
const restated = "what it reports stands in its observations or is said later";

describe("distillRun over random teams of other systems", () => {
  it(`shows every sentence of every agent or says why not, for ${rounds} runs`, async () => {
    const random = seededRandom(33).next;
    const reasons = new Map<string, number>();
    let sentences = 0;
    for (let round = 0; round < rounds; round++) {
      const run = randomRun(random);
      const { profile } = await proposeProfile([run]);
      const { trajectory, failure } = distillRun(run, { profile: { ...profile, maxParallelCalls: 1 + (round % 3) } });
      assert.equal(failure, undefined, JSON.stringify(run));
      assertOrigins(trajectory!, run);
      for (const step of run.steps) {
        for (const sentence of sentencesOf(step)) {
          sentences++;
          if (trajectory!.segments.some(({ text }) => text.includes(sentence))) continue;
          // A step that is shown by its reasoning may leave its report to others.
          const { reason = restated } = trajectory!.leftOut!.find((one) => one.step === step.id) ?? {};
          const holds = reason.split("; ").filter((one) => confirmed[one]?.(sentence, step, trajectory!));
          for (const one of holds) reasons.set(one, (reasons.get(one) ?? 0) + 1);
          const about = `round ${round}, ${step.id}: "${sentence}" left out: ${reason}`;
          assert.ok(holds.length > 0, `${about}\n${JSON.stringify(trajectory!.segments)}`);
        }
      }
    }
    assert.deepEqual([...reasons.keys()].sort(), Object.keys(confirmed).sort(), "each reason occurs, and no other");
    const leftOut = [...reasons.values()].reduce((sum, count) => sum + count, 0);
    assert.ok(leftOut < sentences / 4, `${leftOut} of ${sentences} left out`);
  });
});

/** What must be true of a sentence where its step is left out for this reason. */
const confirmed: Record<string, (sentence: string, step: TeamStep, chain: Trajectory) => boolean> = {
  [restated]: (sentence, step, { segments }) => {
    const words = sentence.toLowerCase().match(/\w+/g)!;
    return segments.some(
      ({ by, from, text }) =>
        (by === "model" || from!.agent === step.agentId) && words.every((word) => text.toLowerCase().includes(word)),
    );
  },
  "the same call had brought the same result before": (_sentence, step, { segments }) =>
    step.toolCalls.every((call) =>
      segments.some(
        ({ call: made, text }) =>
          JSON.stringify(made?.input) === call.arguments && text.includes(call.error ?? call.result!),
      ),
    ),
};

const sentencesOf = ({ text, reasoning = "" }: TeamStep) => `${text}\n${reasoning}`.match(/[^.\n]+\./g) ?? [];

/** Managers with sub-agents at two depths, or agents that hand on; with and without tools, that repeat each other or not. */
function randomRun(random: () => number): TeamRun {
  const below = (end: number) => Math.floor(random() * end);
  const agents: TeamAgent[] = [];
  const steps: TeamStep[] = [];
  const said: string[][] = [];
  let calls = 0;
  const sentence = () => {
    const repeated = random() < 0.4 ? said.at(-1 - below(4)) : undefined;
    const facts = repeated ?? [`Fact${below(999)}`, String(below(9999)), `w${below(9999)}x`];
    said.push(facts);
    const [name, number, word] = facts;
    return random() < 0.5
      ? `${name} holds number ${number} because ${word}.`
      : `Because ${word} number ${number} holds ${name}.`;
  };
  const prose = () => Array.from({ length: 1 + below(2) }, sentence).join(" ");
  const say = (agentId: string, text: string, toolCalls: TeamStep["toolCalls"] = []) => {
    const reasoning = random() < 0.4 ? { reasoning: prose() } : {};
    const counts = { promptTokens: 1, completionTokens: 1 };
    steps.push({ id: `s${steps.length}`, agentId, input: [], text, toolCalls, ...reasoning, ...counts });
  };
  const toolCall = () => {
    const ends = random() < 0.2 ? { error: `HTTP 50${below(3)}` } : { result: random() < 0.5 ? "none" : prose() };
    return { id: `c${calls++}`, name: "lookup", arguments: JSON.stringify({ query: `q${below(4)}` }), ...ends };
  };
  const work = (id: string, depth: number) => {
    const withTools = random() < 0.5;
    for (let turn = below(4); turn > 0; turn--) {
      const delegates = depth < 2 && random() < 0.5;
      if (!delegates && !withTools) continue;
      if (!delegates) {
        say(id, random() < 0.7 ? prose() : "", [toolCall()]);
        continue;
      }
      const made = Array.from({ length: 1 + below(2) }, () => {
        const agent = { id: `a${agents.length}`, name: "helper", parentCallId: `c${calls++}` };
        agents.push(agent);
        return agent;
      });
      const asked = made.map(({ parentCallId }) => ({
        id: parentCallId,
        name: "ask",
        arguments: '{"task":"go on"}',
        result: "done",
      }));
      say(id, random() < 0.7 ? prose() : "", asked);
      for (const agent of made) {
        work(agent.id, depth + 1);
        say(agent.id, prose());
      }
    }
  };
  const roots = 1 + below(3);
  for (let root = 0; root < roots; root++) {
    const previous = agents[0]?.id;
    const id = `a${agents.length}`;
    agents.push({ id, name: id, ...(previous !== undefined && { handoffFrom: previous }) });
    work(id, 0);
    say(id, prose());
  }
  return {
    version: 1,
    id: "random",
    question: "What holds?",
    topology: roots > 1 ? "handoff" : "agents-as-tools",
    agents,
    steps,
    messages: {},
    answer: steps.at(-1)!.text,
    ending: { reason: "answered" },
    usage: emptyUsage(),
    source: "proxy",
    completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
  };
}
