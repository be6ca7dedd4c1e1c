/**
 * What a run gave back. Not simply the last words: a critic, a verifier or a guard may speak after the answer, and a
 * title is written beside it.
 */
import { asObject, parseJson } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import type { TeamAgent, TeamStep } from "../core/team-run.ts";
import { proposedAnswer } from "../language/team-moves.ts";
import { answerByTool } from "./answer-by-tool.ts";
import { squeeze } from "./quotes.ts";

/** Agents that judge what others wrote, by their instructions. */
const judge =
  /\b(?:critics?|critique|review(?:er)?|judge|evaluat\w+|verif\w+|approv\w+|grade[rs]?|checker|validat\w+|feedback|quality|audit\w*|inspect\w*|referee|arbiter|kritik\w*|gutachter\w*|réviseur|crítico|revisor)\b|prüf|評価|审核|评审|检查|検証/i;

/** Agrees, and says nothing else of weight. */
const verdict =
  /^\W*(?:(?:verdict|decision|result|status|grade|judge?ment)\W+)?(?:pass(?:ed)?|approved?|accept(?:ed|able)?|ok(?:ay)?|lgtm|correct|valid|good|great|yes|terminate|done|no (?:further |more )?(?:changes?|issues?|feedback)|looks good)\b/i;

interface Said {
  agents: readonly TeamAgent[];
  steps: readonly TeamStep[];
  messages: Readonly<Record<string, Message>>;
  /** Agents whose last reply no other agent was given, where that is known. */
  ends?: readonly string[] | undefined;
}

/** The answer, or why it is not known which of the replies it is. */
export function runAnswer(run: Said, root: TeamAgent | undefined): { answer: string | null; unknown?: string } {
  const { agents, steps, messages, ends = [] } = run;
  if (steps.some(({ move }) => move !== undefined)) {
    const text = steps.findLast(({ move }) => move === "answer")?.text;
    return { answer: text === undefined ? null : proposedAnswer(text) };
  }
  const works = (id: string) => agents.find((agent) => agent.id === id)?.side === undefined;
  // A short word that another agent was given as it stands was read too.
  const wasGiven = (id: string) => {
    const said = steps.findLast(({ agentId }) => agentId === id)?.text.trim();
    const others = steps.filter(({ agentId }) => agentId !== id).flatMap(({ input }) => input);
    return said !== "" && others.some((key) => messages[key]?.content.trim() === said);
  };
  // What a judge approved went on to another agent: the verdict was read by the program.
  const decided = (id: string) => {
    const last = steps.findLast(({ agentId }) => agentId === id);
    const approved = last && approves(last, agents) ? judgedBy(last, steps, run)?.text : undefined;
    const later = approved === undefined ? [] : steps.slice(steps.indexOf(last!) + 1);
    return later.some(({ input }) => input.some((key) => messages[key]?.content.includes(approved!)));
  };
  const open = ends.filter((id) => works(id) && (ends.length < 2 || !(wasGiven(id) || decided(id))));
  const holders = new Set<string>([...(root ? [root.id] : []), ...ends]);
  for (const agent of agents) if (agent.handoffFrom && holders.has(agent.handoffFrom)) holders.add(agent.id);
  const spoken = steps.filter((step) => holders.has(step.agentId) && (works(step.agentId) || agents.length === 1));
  const last = spoken.at(-1);
  if (!last || last.error !== undefined) return { answer: null };
  if (last.toolCalls.length > 0) {
    return { answer: answerByTool(last, agents.find(({ id }) => id === last.agentId)?.tools) ?? null };
  }
  const told = (step: TeamStep) => toldOf(step, agents);
  // One that hands work to others leads them; a judge only reads.
  const isJudge =
    (judge.test(told(last)) || isFlag(last.text)) &&
    !steps.some((step) => step.agentId === last.agentId && step.toolCalls.length);
  const judged = isJudge ? judgedBy(last, spoken, run) : undefined;
  if (judged) {
    const again = steps.some((step) => step !== last && told(step) === told(last));
    if (again || approves(last, agents)) return { answer: judged.text };
    return { answer: last.text, unknown: "a judge spoke last: what it wrote may be the answer or a verdict" };
  }
  const answer = last.text !== "" ? last.text : null;
  if (open.length < 2) return { answer };
  return { answer, unknown: `${open.length} agents ended the flow: which reply was given back is not known` };
}

/** Whether a text is the verdict of a guard: yes or no under some name, and at most why. */
function isFlag(text: string): boolean {
  const fields = Object.entries(asObject(parseJson(text)) ?? {});
  const isWhy = (name: string) => /reason|explan|comment|confiden|score|categor/i.test(name);
  return (
    fields.some(([, value]) => typeof value === "boolean") &&
    fields.every(([name, value]) => typeof value === "boolean" || isWhy(name))
  );
}

/** Who an agent is: by its instructions, or in a chat that shows none by its name. */
function toldOf({ agentId }: Pick<TeamStep, "agentId">, agents: readonly TeamAgent[]): string {
  const agent = agents.find(({ id }) => id === agentId);
  return agent?.instructions || (agent?.name ?? "").replaceAll("_", " ");
}

/** Whether a step is the verdict of a judge who agrees. */
function approves({ agentId, text }: TeamStep, agents: readonly TeamAgent[]): boolean {
  return judge.test(toldOf({ agentId }, agents)) && verdict.test(text) && text.length <= 200;
}

/** The reply of another agent that a step was given, the latest of several. */
function judgedBy(last: TeamStep, spoken: readonly TeamStep[], { agents, messages }: Said): TeamStep | undefined {
  const read = squeeze(last.input.map((key) => messages[key]?.content ?? "").join("\n"));
  return spoken.findLast((step) => {
    const text = squeeze(step.text);
    return text !== "" && toldOf(step, agents) !== toldOf(last, agents) && read.includes(text);
  });
}
