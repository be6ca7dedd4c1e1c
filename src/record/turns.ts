/**
 * A conversation is several runs: each question of the user with the work that it caused, the turns before it as its
 * history. A turn ends when the agent answers without calling a tool and the user writes again.
 */
import type { Thread } from "./call-threads.ts";
import type { ThreadLink } from "./link-threads.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { beginsTurn } from "./user-turn.ts";

/** One turn: its threads, the first being the one that was asked. */
export interface Turn {
  threads: Thread[];
  links: ReadonlyMap<Thread, ThreadLink>;
}

/** Splits the threads of one conversation into turns; most conversations are one. */
export function splitTurns(threads: readonly Thread[], links: ReadonlyMap<Thread, ThreadLink>): Turn[] {
  const main = mainThreads(threads, links);
  const calls = main
    .flatMap((thread) => thread.calls.map((call) => ({ call, thread })))
    .sort((a, b) => a.call.startedAt - b.call.startedAt);
  const turnOf = new Map<RecordedCall, number>();
  let turn = 0;
  calls.forEach(({ call }, index) => {
    if (index > 0 && beginsTurn(calls[index - 1]!.call, call)) turn++;
    turnOf.set(call, turn);
  });
  if (turn === 0) return [{ threads: [...threads], links }];
  return Array.from({ length: turn + 1 }, (_, wanted) => {
    const part = (thread: Thread): Thread => ({
      ...thread,
      calls: thread.calls.filter((call) => turnOf.get(call) === wanted),
    });
    const own = new Map<Thread, Thread>();
    for (const thread of threads) {
      if (main.includes(thread)) {
        const piece = part(thread);
        if (piece.calls.length > 0) own.set(thread, piece);
      } else if (turnOfThread(thread, links, turnOf) === wanted) own.set(thread, thread);
    }
    for (const piece of own.values()) {
      const before = piece.handoffFrom && own.get(piece.handoffFrom);
      if (before) piece.handoffFrom = before;
      else if (piece.handoffFrom && main.includes(piece.handoffFrom)) delete piece.handoffFrom;
    }
    const kept = new Map(
      [...own].flatMap(([old, piece]) => {
        const link = links.get(old);
        return link ? [[piece, { ...link, parent: own.get(link.parent) ?? link.parent }] as const] : [];
      }),
    );
    const sorted = [...own.values()].sort((a, b) => a.calls[0]!.startedAt - b.calls[0]!.startedAt);
    return { threads: sorted, links: kept };
  });
}

/** The thread that was asked and those it handed over to. */
function mainThreads(threads: readonly Thread[], links: ReadonlyMap<Thread, ThreadLink>): Thread[] {
  const root = threads.find((thread) => !links.has(thread) && !thread.handoffFrom) ?? threads[0];
  if (!root) return [];
  const main = [root];
  const ids = new Map(threads.map((thread) => [thread.id, thread]));
  for (const thread of threads) {
    const told = thread.calls[0]?.agent?.handoffFrom;
    const from = thread.handoffFrom ?? (told === undefined ? undefined : ids.get(told));
    if (from && main.includes(from) && !main.includes(thread)) main.push(thread);
  }
  return main;
}

function turnOfThread(
  thread: Thread,
  links: ReadonlyMap<Thread, ThreadLink>,
  turnOf: ReadonlyMap<RecordedCall, number>,
): number {
  const seen = new Set<Thread>();
  for (let at: Thread | undefined = thread; at && !seen.has(at); ) {
    seen.add(at);
    const link: ThreadLink | undefined = links.get(at);
    const by = link?.parent.calls.find((call) => call.toolCalls.includes(link.call));
    const turn = by && turnOf.get(by);
    if (turn !== undefined) return turn;
    at = link?.parent ?? at.handoffFrom;
  }
  // No call started it: it belongs to the turn that was under way.
  const started = thread.calls[0]!.startedAt;
  let found = 0;
  for (const [call, turn] of turnOf) if (call.startedAt <= started) found = Math.max(found, turn);
  return found;
}
