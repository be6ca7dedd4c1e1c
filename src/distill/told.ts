/**
 * What reached an agent in the middle of its work and no agent or tool of the run said: a note of an operator, a document
 * that the program found for it, in a message or in renewed instructions. A chain without it answers out of nothing.
 */
import type { TeamRun } from "../core/team-run.ts";

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
  for (const { id, agentId, input } of run.steps) {
    const fresh = input.filter((key) => !messages.has(key)).flatMap((key) => run.messages[key] ?? []);
    const texts = fresh.flatMap(({ role, content }) => {
      const text = content.split("\n").filter((line) => !lines.has(line.trim()));
      for (const line of text) lines.add(line.trim());
      const whole = text.join("\n").trim();
      const isTold = begun.has(agentId) && (role === "user" || role === "system") && whole !== "";
      return isTold && !isSaid(whole) && !isSaid(content.trim()) ? [whole] : [];
    });
    for (const key of input) messages.add(key);
    begun.add(agentId);
    if (texts.length > 0) told.set(id, texts);
  }
  return told;
}
