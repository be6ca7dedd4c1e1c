/**
 * Other trainers see conversations, not segments. A chain is cut where the author changes: what the model wrote in one go
 * is one assistant turn, what came back is one turn that is not learned. Joined, the turns are exactly the chain.
 */
import type { Message } from "../../core/message.ts";
import { type Segment, type Trajectory, writtenForm } from "../../core/trajectory.ts";

export interface ChainTurn {
  author: "model" | "tool";
  text: string;
  segments: number[];
}

export function chainTurns(segments: readonly Segment[]): ChainTurn[] {
  const turns: ChainTurn[] = [];
  segments.forEach((segment, index) => {
    const author = segment.by === "model" ? "model" : "tool";
    const last = turns.at(-1);
    if (last?.author === author) {
      last.text += writtenForm(segment);
      last.segments.push(index);
    } else turns.push({ author, text: writtenForm(segment), segments: [index] });
  });
  return turns;
}

/** Why a chain whose context was shortened on the way is no single text of another trainer. */
export function severalContexts({ compactions }: Trajectory): string | undefined {
  return compactions?.length
    ? "its context was shortened on the way, which one text can't say; `coa dataset build` makes an example of each context"
    : undefined;
}

/**
 * Turns that a conversation format can hold: it must end with the model, and something must have been written.
 * Returns the reason where there are none.
 */
export function conversationTurns(trajectory: Trajectory): { turns: ChainTurn[] } | { skipped: string } {
  const several = severalContexts(trajectory);
  if (several) return { skipped: several };
  const turns = chainTurns(trajectory.segments);
  while (turns.at(-1)?.author === "tool") turns.pop();
  if (turns.length === 0) return { skipped: "the model wrote nothing" };
  if (turns[0]!.author === "tool") return { skipped: "the chain begins with an observation" };
  if (!trajectory.prompt.some((message) => message.role === "user"))
    return { skipped: "the prompt has no user message" };
  return { turns };
}

export function promptTexts(prompt: readonly Message[]): { system: string; user: string } {
  const join = (role: Message["role"]) =>
    prompt
      .filter((message) => message.role === role)
      .map((message) => message.content)
      .join("\n\n");
  return { system: join("system"), user: join("user") };
}
