/** What the user says, as opposed to what programs write in the user's name. */
import type { Message } from "../core/message.ts";
import { askedQuestion, teamRequestIn } from "../language/team-moves.ts";
import type { RecordedCall } from "./recorded-call.ts";

/** Text agents are told what their tools returned in the user's name; that is not the user speaking. */
const observation =
  /^[\s*#]*(?:\[?observation|results?:|✿RESULT✿|观察|\{\s*"(?:result|observation|output|error|tool_result)"\s*:|\[?tool[ _](?:result|response|output)|<(?:tool_response|observation|function_result)|execution (?:log|result)|output of|error)/i;

/** Programs that steer an agent write in the user's name too: our own team does, and many ask for another try of what they can't parse. */
const steering =
  /^\s*(?:your (?:last |previous )?(?:reply|answer|response|output|message) (?:was|is|did|does|has|could|must)|(?:please |now )?(?:continue|go on|proceed)\b.{0,80}$|analyze the tool result\b|(?:\d+ )?validation (?:errors?|feedback)\b|(?:please )?(?:correct|fix) (?:your|the) (?:json|response|output|errors?|format)\b|(?:invalid|malformed|(?:could not|failed to) parse)\b.{0,20}\b(?:json|output|response)\b|plain text responses are not permitted)|\bfix the errors and try again\W*$/i;

/** What frameworks write around a task: smolagents, CrewAI, DSPy. */
const frames = [
  /^New task:\s+(?:You're a helpful agent named [\s\S]*?\n---\s+Task:\s+([\s\S]*?)\n---[\s\S]*|([\s\S]*))$/,
  /^\s*Current Task: ([\s\S]*?)\n\s*This is the expected criteria for your final answer:[\s\S]*$/,
  /^\[\[ ## \w+ ## \]\]\s+((?:(?!\[\[ ## )[\s\S])*?)(?:\s*Respond with the corresponding output fields?[\s\S]*)?$/,
];

/** A message without what the program around an agent adds to it. */
export function spoken(content: string): string {
  const text = content.replace(/<(system-reminder|task-notification)>[\s\S]*?<\/\1>/g, "").trim();
  const [, whole, rest] = frames.map((frame) => frame.exec(text)).find(Boolean) ?? [];
  return (whole ?? rest ?? text).trim();
}

/** The task where the instructions tell it and the user only says when to begin, as CAMEL's agents are asked. */
export function toldTask(messages: readonly Message[] = []): string | undefined {
  const told = messages.find(({ role }) => role === "system")?.content ?? "";
  return /\bHere is the task: ([\s\S]+?)\.? Never forget our task!/.exec(told)?.[1];
}

type Spoken = Pick<RecordedCall, "messages" | "text"> & { toolCalls: readonly unknown[] };

/** Whether a call answers something new: the call before it answered, whole or stopped half-way, and a message was written since. */
export function beginsTurn(before: Spoken, call: Pick<Spoken, "messages">): boolean {
  if (before.toolCalls.length > 0 || before.text.trim() === "") return false;
  const { messages } = call;
  const last = messages.findLastIndex(isQuestion);
  const reply = messages.findLastIndex((message) => message.role === "assistant");
  if (last <= reply || reply === -1) return false;
  return (
    before.messages.filter(isQuestion).length < messages.filter(isQuestion).length || before.messages.length < last
  );
}

/** Something that the user said, as far as a message tells. */
function isQuestion(message: Message): boolean {
  const { role, name } = message;
  const content = spoken(message.content);
  if (role !== "user" || name !== undefined || content === "") return false;
  if (askedQuestion(content) !== undefined) return true;
  return !observation.test(content) && !steering.test(content) && teamRequestIn(content) === undefined;
}

/** Whether a text can be what a user asked: not empty, no tool's result, no reminder of a program. */
export function isAsked(given: string): boolean {
  const text = spoken(given);
  return text !== "" && !observation.test(text) && !steering.test(text) && teamRequestIn(text) === undefined;
}

/** What was said before the question that a call answers: all but the instructions; absent where nothing was. */
export function historyBefore(messages: readonly Message[]): Message[] | undefined {
  const at = messages.findLastIndex(isQuestion);
  // Not only earlier turns: a document is often in a message of its own before the question.
  const before = messages.slice(0, Math.max(0, at)).filter((message) => message.role !== "system");
  return before.length > 0 ? before : undefined;
}
