/**
 * A team run as the browser draws it: agents in the order they began, every step on one clock, and for each prompt how
 * much of it had been read before (`reread`), how much was sent again (`retold`: a message that some agent had already
 * seen, outside the shared beginning), and how much was new.
 */
import { type CountedCall, rereadTokens } from "../../base/count/run-usage.ts";
import { messageTokens } from "../../base/count/token-estimate.ts";
import type { Message } from "../../core/message.ts";
import type { TeamRun, TeamStep } from "../../core/team-run.ts";
import { cutText } from "./cut-text.ts";

export function runView(run: TeamRun) {
  const { id, taskId, topology, source, family, ending, usage } = run;
  const told = { id, taskId, topology, source, family, ending, usage };
  return {
    ...told,
    question: cutText(run.question),
    answer: run.answer === null ? null : cutText(run.answer),
    agents: run.agents.map(({ id, name, role = name }) => ({ id, name, role })),
    steps: stepViews(run),
    /** Every message that some step was given, once; steps name them by their places here. */
    messages: Object.values(run.messages).map(({ role, content }) => ({ role, text: cutText(content) })),
    /** What the recording lost, and why it must not be trained on. */
    notes: run.completeness.notes,
    untrainable: run.completeness.untrainable ?? [],
  };
}

/** A team run as the browser draws it. */
export type RunView = ReturnType<typeof runView>;

export type StepView = RunView["steps"][number];

function stepViews(run: TeamRun) {
  const began = Math.min(...run.steps.map((step) => step.startedAt ?? Number.POSITIVE_INFINITY));
  const since = (time: number | undefined) =>
    time === undefined || !Number.isFinite(began) ? undefined : Math.max(0, time - began);
  const rereads = rereadTokens(run.steps.map((step) => countedCall(run, step)));
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  const places = new Map(Object.keys(run.messages).map((hash, place) => [hash, place]));
  return run.steps.map((step, index) => {
    const { id, agentId: agent, move, model, finish, error } = step;
    const number = (numbers.get(agent) ?? 0) + 1;
    numbers.set(agent, number);
    const given = step.input.flatMap((hash) => {
      const at = places.get(hash);
      return at === undefined ? [] : [{ at, seen: seen.has(hash) }];
    });
    const prompt = Math.max(step.promptTokens, 0);
    // Of a prompt that was not recorded nothing is known: neither what was new nor what was read before.
    const known = given.length > 0;
    const reread = known ? Math.min(prompt, rereads[index]!) : 0;
    const retold = known ? toldAgain(run, step, seen, prompt, rereads[index]!) : 0;
    for (const hash of step.input) seen.add(hash);
    const tools = toolsOf(run, agent).map(({ name }) => name);
    const settings = Object.entries(step.settings ?? {}).map(
      ([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`,
    );
    const told = { id, agent, move, model, finish, error, number, given, tools, settings };
    return {
      ...told,
      /** Milliseconds since the run began; absent where the recording has no times. */
      start: since(step.startedAt),
      end: since(step.endedAt),
      text: cutText(step.text),
      ...(step.reasoning && { reasoning: cutText(step.reasoning) }),
      calls: step.toolCalls.map((call) => ({
        name: call.name,
        arguments: cutText(call.arguments),
        ...(call.result !== undefined && { result: cutText(call.result) }),
        ...(call.error !== undefined && { error: cutText(call.error) }),
        start: since(call.startedAt),
        end: since(call.endedAt),
        delegatesTo: call.delegatesTo,
      })),
      tokens: { prompt, reread, retold, unknown: known ? 0 : prompt, completion: step.completionTokens },
    };
  });
}

function countedCall(run: TeamRun, step: TeamStep): CountedCall {
  const messages = step.input.map((hash) => run.messages[hash]).filter((message) => message !== undefined);
  return { ...step, messages, tools: toolsOf(run, step.agentId) };
}

/** What an agent could call; a recorder may keep it at the agent's first activation only. */
function toolsOf({ agents }: TeamRun, id: string) {
  const agent = agents.find((one) => one.id === id);
  return (agent?.tools ? agent : agents.find(({ name, tools }) => name === agent?.name && tools))?.tools ?? [];
}

/** Tokens of messages that were seen before and are outside the shared beginning: they were sent again. */
function toldAgain(run: TeamRun, step: TeamStep, seen: ReadonlySet<string>, prompt: number, reread: number): number {
  const weight = (message: Message | undefined) => (message ? messageTokens(message) : 0);
  const all = step.input.reduce((sum, hash) => sum + weight(run.messages[hash]), 0);
  const known = step.input.reduce((sum, hash) => sum + (seen.has(hash) ? weight(run.messages[hash]) : 0), 0);
  if (all === 0) return 0;
  return Math.max(0, Math.min(prompt - reread, Math.round((prompt * known) / all) - reread));
}
