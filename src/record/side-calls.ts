/** Calls that a program makes beside the work: a title for a chat, a guard's verdict, who speaks next, what to remember. */
import type { Message } from "../core/message.ts";
import type { TeamAgent } from "../core/team-run.ts";

const kinds: [NonNullable<TeamAgent["side"]>, RegExp][] = [
  [
    "title",
    /\b(?:generate|write|create|give|make|suggest|produce)\b.{0,60}\btitle\b.{0,60}\b(?:chat|conversation|thread|session|message)/is,
  ],
  ["title", /\btitle\b.{0,30}\bfor (?:this|the) (?:chat|conversation|thread|session)/is],
  ["guard", /\bguard ?rails?\b|\b(?:input|output|safety|content) (?:guard|moderat\w+|filter)\b|\bmoderation\b/i],
  [
    "guard",
    /\b(?:check|decide|classify|determine|judge)\b.{0,40}\b(?:whether|if)\b.{0,80}\b(?:allowed|safe|unsafe|harmful|off-topic|on topic|jailbreak|abusive)/is,
  ],
  ["selector", /\bselect the next (?:role|speaker|agent)\b|\b(?:who|which (?:role|agent)) (?:should )?speaks? next\b/i],
  [
    "memory",
    /\b(?:extract|update|store|save|consolidate)\b.{0,60}\b(?:memor(?:y|ies)|facts about the user|user preferences)\b/is,
  ],
];

/** Which kind of side call a prompt asks for, by its instructions or, without any, by its only message. */
export function sideKind(messages: readonly Message[], usesTools: boolean): TeamAgent["side"] {
  if (usesTools) return undefined;
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content.slice(0, 2_000));
  const told = system.length > 0 ? system.join("\n") : (messages[0]?.content.slice(0, 300) ?? "");
  return kinds.find(([, pattern]) => pattern.test(told))?.[0];
}
