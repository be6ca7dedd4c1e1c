/**
 * One request that was made several times with an answer each time. It is another try where the program went on from the
 * last of them alone, or where a reply could not be used. Else it is the same task once more: people sample one question.
 */
import { fingerprint } from "../core/fingerprint.ts";
import { asObject, parseJson } from "../core/json-value.ts";
import { type CallFlow, isApart } from "./call-flow.ts";
import type { Thread } from "./call-threads.ts";

interface Again {
  /** The run that each first agent began, with all of its threads. */
  families: ReadonlyMap<Thread, readonly Thread[]>;
  flow: CallFlow;
  /** The program went on from one thread to the next. */
  join(from: Thread, to: Thread): void;
  doubt(thread: Thread, why: string): void;
}

/** Joins tries to the run that went on from the last of them, and doubts those of which nothing is known. */
export function joinTries({ families, flow, join, doubt }: Again): void {
  const sizeOf = (root: Thread) => families.get(root)!.length;
  const isBare = (root: Thread) =>
    sizeOf(root) === 1 && root.calls.length === 1 && root.calls[0]!.toolCalls.length === 0;
  for (const group of Map.groupBy(families.keys(), ({ calls: [first] }) =>
    fingerprint(JSON.stringify([first!.scope, first!.messages, first!.tools])),
  ).values()) {
    if (group.length < 2) continue;
    const wentOn = group.some((root) => sizeOf(root) > 1);
    const byLast = new Map(group.map((root) => [root.calls.at(-1)!.id, root]));
    for (const root of group) {
      const before = byLast.get(past(root, flow).find((id) => byLast.has(id)) ?? "");
      if (!before || before === root || isApart(before.calls[0]!, root.calls[0]!)) continue;
      if (isBare(before) && (wentOn || isUnusable(before, root))) join(before, root);
      else if (wentOn && sizeOf(before) === 1)
        doubt(before, "the same was asked again in the same flow, and that went on");
    }
    if (group.every(({ calls }) => calls[0]!.recorder === "preload")) continue;
    // Without the program's flow, tries of one that went on look like whole runs, and it like a whole one without them.
    if (wentOn && group.some(isBare))
      for (const root of group) doubt(root, "another run was asked the same, and only one of them went on");
    for (const [index, root] of group.entries())
      if (group.slice(index + 1).some((next) => isBare(root) && isUnusable(root, next)))
        doubt(root, "its reply could not be used, and the same was asked again");
  }
}

/** Whether a reply is nothing that a program could go on with: empty, cut, refused, or not in the form that was asked for. */
function isUnusable({ calls }: Thread, next: Thread): boolean {
  const { text, finish = "stop", settings } = calls.at(-1)!;
  if (text.trim() === "" || finish !== "stop") return true;
  const isJson = (one: string) => asObject(parseJson(one)) !== undefined;
  const wanted = /json/.test(JSON.stringify(settings?.["responseFormat"] ?? "")) || isJson(next.calls.at(-1)!.text);
  return wanted && !isJson(text);
}

/** The calls shortly before a thread in the flow of the program, nearest first. */
function past({ calls }: Thread, flow: CallFlow): string[] {
  return Iterator.from(flow(calls[0]!)).take(50).toArray();
}
