/**
 * What reached an agent and no agent or tool of the run said: a note of an operator, a document that the program found
 * for it, in a message or in its instructions. A chain without it answers out of nothing. Of what an agent is told before
 * it begins, most is how to work; a line is kept where the agent's words take names or numbers from it.
 */
import type { TeamRun } from "../core/team-run.ts";
import { names } from "./restated.ts";

/** Such texts, by the step that saw them first. A line that stood in an earlier prompt is nothing new. */
export function toldInRun(run: TeamRun): Map<string, string[]> {
  const said = run.steps
    .flatMap(({ text, toolCalls }) => [text, ...toolCalls.flatMap((call) => [call.result ?? "", call.error ?? ""])])
    .map((text) => text.trim())
    .filter((text) => text !== "");
  const isSaid = (text: string) =>
    said.some((one) => text.endsWith(one) || one.includes(text) || (one.length >= 12 && text.includes(one)));
  const told = new Map<string, string[]>();
  const messages = new Set<string>();
  const lines = new Set<string>();
  const begun = new Set<string>();
  const known = [run.question, ...(run.history ?? []).map(({ content }) => content)];
  // One word in common may be a word of the instructions ("say APPROVE"); a long number or three names are content.
  const uses = (agent: string, line: string) => {
    const own = run.steps.filter(({ agentId }) => agentId === agent).map(({ text }) => text);
    const holds = (texts: readonly string[], name: string) => texts.some((text) => text.includes(name));
    const taken = new Set(
      names(line).filter((name) => /\p{Ll}|\d/u.test(name) && holds(own, name) && !holds(known, name)),
    );
    return taken.size > 2 || [...taken].some((name) => /^\d[\d.,]*\d{2}$/.test(name));
  };
  for (const { id, agentId, input, text: reply, toolCalls } of run.steps) {
    const fresh = input.filter((key) => !messages.has(key)).flatMap((key) => run.messages[key] ?? []);
    const texts = fresh.flatMap(({ role, content }) => {
      const own = content.split("\n").filter((line) => !lines.has(line.trim()));
      for (const line of own) lines.add(line.trim());
      const text = begun.has(agentId) ? own : own.filter((line) => !isSaid(line.trim()) && uses(agentId, line));
      const whole = text.join("\n").trim();
      const isTold = (role === "user" || role === "system") && whole !== "";
      return isTold && !isSaid(whole) && !isSaid(content.trim()) ? [whole] : [];
    });
    for (const key of input) messages.add(key);
    begun.add(agentId);
    known.push(reply, ...toolCalls.flatMap((call) => [call.arguments, call.result ?? ""]));
    if (texts.length > 0) told.set(id, texts);
  }
  return told;
}
