/**
 * One request that was made several times with an answer each time. A program may have looked at the reply and tried
 * again, taken a vote, or been asked the same in another task: where nothing tells which, none of them is a run.
 */
import { fingerprint } from "../core/fingerprint.ts";
import { type CallFlow, isApart } from "./call-flow.ts";
import type { Thread } from "./call-threads.ts";
import type { RecordedCall } from "./recorded-call.ts";

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
  for (const group of Map.groupBy(families.keys(), (root) => requestOf(root.calls[0]!)).values()) {
    if (group.length < 2) continue;
    const most = Math.max(...group.map(sizeOf));
    const byLast = new Map(group.map((root) => [root.calls.at(-1)!.id, root]));
    for (const root of group) {
      const before = byLast.get(past(root, flow).find((id) => byLast.has(id)) ?? "");
      if (!before || before === root || isApart(before.calls[0]!, root.calls[0]!)) continue;
      if (most > sizeOf(before) && isBare(before)) join(before, root);
      else if (most > sizeOf(before)) doubt(before, "the same was asked again in the same flow, and that went on");
      else if (isBare(before))
        for (const one of [before, root])
          doubt(one, "the same was asked again in the same flow: another try or a vote");
    }
    // Without the program's flow, tries of one that went on look like whole runs, and it like a whole one without them.
    const isKnown = group.every(({ calls }) => calls[0]!.recorder === "preload");
    if (!isKnown && most > 1 && group.some(isBare))
      for (const root of group) doubt(root, "another run was asked the same, and only one of them went on");
  }
}

/** The calls shortly before a thread in the flow of the program, nearest first. */
function past({ calls }: Thread, flow: CallFlow): string[] {
  return Iterator.from(flow(calls[0]!)).take(50).toArray();
}

function requestOf({ messages, tools, scope }: RecordedCall): string {
  return fingerprint(JSON.stringify([scope, messages, tools]));
}
