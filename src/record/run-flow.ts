/**
 * Which threads are one run. Beyond calls and hand-overs, programs wire agents in code: a chain, a router, branches that
 * come together, a loop of writer and critic. The flow of the program and the passages of replies that a prompt quotes
 * say so. What fits more than one run is never guessed: those runs are doubtful, and said to be.
 */
import type { Message } from "../core/message.ts";
import { askedQuestion, teamRequestIn, toldTools } from "../language/team-moves.ts";
import { isTransfer } from "./agent-name.ts";
import { joinTries } from "./asked-again.ts";
import { type CallFlow, causesOf, isApart } from "./call-flow.ts";
import { systemOf, type Thread } from "./call-threads.ts";
import type { ThreadLink } from "./link-threads.ts";
import { passagesOf, quoteIndex, squeeze } from "./quotes.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";
import { sideKind } from "./side-calls.ts";
import { toldTask } from "./user-turn.ts";

export interface RunFlow {
  /** The threads of each run, the one that began it first. */
  families: Thread[][];
  /** The threads whose replies the program gave to a thread when it began, latest first. */
  reads: Map<Thread, Thread[]>;
  /** Threads whose last reply reached another one. */
  read: Set<Thread>;
  /** Threads that were joined to a run by what they quote, without knowing the program's flow. */
  inferred: Set<Thread>;
  /** Why a thread may belong to another run than its own. */
  doubts: Map<Thread, string>;
}

/** A reply and the thread that it is of. */
interface Said {
  call: RecordedCall;
  thread: Thread;
}

const nextStep = "record with a run id for each task, or inside the process with coa record run";

export function runFlow(threads: readonly Thread[], links: ReadonlyMap<Thread, ThreadLink>, flow: CallFlow): RunFlow {
  const sorted = threads.toSorted((a, b) => a.calls[0]!.startedAt - b.calls[0]!.startedAt);
  const families = disjointSets(sorted);
  const result: RunFlow = { families: [], reads: new Map(), read: new Set(), inferred: new Set(), doubts: new Map() };
  const owner = new Map<string, Thread>();
  const calls = new Map<string, RecordedCall>();
  const replies = quoteIndex<Said>();
  const begun = new Map<string, Thread>();
  for (const thread of sorted) {
    const { scope } = thread.calls[0]!;
    if (scope !== undefined) {
      families.join(begun.get(scope) ?? thread, thread);
      begun.set(scope, thread);
    }
    for (const call of thread.calls) {
      owner.set(call.id, thread);
      calls.set(call.id, call);
      const prompt = call.messages.map(({ content }) => squeeze(content)).join("\n");
      // What a reply repeats of its own prompt does not tell it from others.
      const handed = call.toolCalls.filter(({ name }) => isTransfer(name)).map((tool) => tool.arguments);
      for (const passage of [call.text, ...handed].flatMap(passagesOf)) {
        if (!prompt.includes(passage)) replies.add(passage, { call, thread });
      }
    }
    const above = links.get(thread)?.parent ?? thread.handoffFrom;
    if (above) families.join(above, thread);
    if (thread.handoffFrom) result.read.add(thread.handoffFrom);
  }
  const doubt = (thread: Thread, why: string) => result.doubts.set(thread, `${why}: ${nextStep}`);
  const reads = (thread: Thread, call: RecordedCall, from: Said, known: boolean) => {
    if (call === thread.calls[0] && !links.has(thread)) {
      const all = result.reads.get(thread) ?? [];
      if (!all.includes(from.thread)) result.reads.set(thread, [...all, from.thread]);
    }
    if (from.call === from.thread.calls.at(-1)) result.read.add(from.thread);
    if (families.of(from.thread) === families.of(thread)) return;
    families.join(from.thread, thread);
    if (!known) result.inferred.add(thread);
  };

  /** The calls before one in its flow, as far back as a time. */
  const flowSince = (call: RecordedCall, since: number): Set<string> => {
    const ids = new Set<string>();
    let older = 0;
    for (const id of flow(call)) {
      if ((calls.get(id)?.startedAt ?? since) >= since) ids.add(id);
      // Branches are walked side by side: one may reach far back before another does.
      else if (++older > 64) break;
    }
    return ids;
  };
  for (const thread of sorted) {
    const seen = new Set<string>();
    for (const call of thread.calls) {
      for (const { role, content } of call.messages) {
        // What a tool brought is linked by its call; a memory may bring what another run said.
        if (role === "tool" || seen.has(content)) continue;
        const { scope } = call;
        seen.add(content);
        for (const passage of replies.in(content)) {
          const all = replies.saidBy(passage);
          if (all.some((one) => one.thread === thread)) continue;
          const past = all.filter((one) => one.call.endedAt <= call.startedAt && !isApart(one.call, call));
          const own = scope === undefined ? [] : past.filter((one) => one.call.scope === scope);
          // What another call of a framework said is its history where it stands as the agent's own words.
          const earlier = own.length > 0 || (scope !== undefined && role === "assistant") ? own : past;
          if (earlier.length === 0) continue;
          const before = flowSince(call, Math.min(...earlier.map((one) => one.call.startedAt)));
          const fitting = nearest(earlier, before, flow);
          const last = fitting.at(-1)!;
          if (fitting.every((one) => families.of(one.thread) === families.of(last.thread))) {
            reads(thread, call, last, before.has(last.call.id));
          } else if (!fitting.some((one) => families.of(one.thread) === families.of(thread))) {
            for (const one of fitting) doubt(one.thread, "its reply is quoted where that of another run may be meant");
            doubt(thread, "it quotes a reply that several runs gave");
          }
        }
      }
    }
    result.reads.get(thread)?.sort((a, b) => b.calls[0]!.startedAt - a.calls[0]!.startedAt);
    follow(thread);
  }

  /** A thread that quotes nothing of what came before it in the flow: the next step all the same, or the next task. */
  function follow(thread: Thread): void {
    const first = thread.calls[0]!;
    if (links.has(thread) || thread.handoffFrom || result.reads.has(thread)) return;
    const past = Iterator.from(flow(first))
      .take(50)
      .filter((id) => calls.has(id))
      .toArray();
    const call = calls.get(past[0] ?? "");
    const before = call && owner.get(call.id);
    if (!before || families.of(before) === families.of(thread)) return;
    const root = families.of(before);
    const asked = squeeze(questionsOf(root.calls[0]!).at(-1)!);
    const told = squeeze(first.messages.map(({ content }) => content).join("\n"));
    if (asked.length >= 12 && told.includes(asked) && systemOf(root.calls[0]!) !== systemOf(first)) {
      for (const id of new Set([call.id, ...causesOf(first)])) {
        const one = calls.get(id);
        if (one) reads(thread, first, { call: one, thread: owner.get(id)! }, true);
      }
      return;
    }
    // The next task begins as the one before did, with one of its first agents where there were several.
    const starts = past
      .map((id) => owner.get(id)!)
      .flatMap((one) => [one, ...(result.reads.get(one) ?? [])])
      .filter((one) => families.of(one) === root && !result.reads.has(one));
    if (first.scope !== undefined) return;
    const again = [root, ...starts].some((one) => systemOf(one.calls[0]!) === systemOf(first));
    if (again && !holdsWords(told, call.text)) return;
    // Several that began alike may be branches of it where it names what they replied, however short.
    const named = past
      .filter((id) => holdsWords(told, calls.get(id)!.text, 1))
      .map((id) => families.of(owner.get(id)!));
    for (const one of [root, thread, ...named])
      doubt(one, "it may be a part of what came before or after it in the same flow");
  }

  // One incoming request is one run; one agent asked several times in it, without a word in common, is several tasks.
  for (const same of Map.groupBy(sorted, (thread) => thread.calls.at(-1)!.root).entries()) {
    const [root, own] = same;
    if (root === undefined || new Set(own.map((thread) => systemOf(thread.calls[0]!))).size < 2) continue;
    for (const thread of own) families.join(own[0]!, thread);
  }
  joinTries({
    families: Map.groupBy(sorted, families.of),
    flow,
    join: (from, to) => reads(to, to.calls[0]!, { call: from.calls.at(-1)!, thread: from }, true),
    doubt,
  });
  const roots = sorted.filter((thread) => families.of(thread) === thread);
  const members = Map.groupBy(sorted, families.of);
  /** The program's own flow put several agents together: nothing of it is missing elsewhere. */
  const isWhole = (root: Thread) => {
    const family = members.get(root) ?? [];
    if (root.calls[0]!.root !== undefined) return true;
    return family.length > 1 && family.every((thread) => !result.inferred.has(thread));
  };
  const spanOf = (root: Thread) => {
    const all = (members.get(root) ?? [root]).flatMap(({ calls: own }) => own);
    return { from: Math.min(...all.map((one) => one.startedAt)), to: Math.max(...all.map((one) => one.endedAt)) };
  };
  for (const { parts, whole, beside } of sameQuestion(roots, spanOf)) {
    if (parts.every(isWhole)) continue;
    for (const part of parts) {
      if (beside) doubt(part, "a call beside the work may be of it, or of another run that was asked the same then");
      else if (!whole) doubt(part, "another run was asked the same under other instructions");
      else if (families.of(part) !== families.of(whole)) {
        families.join(whole, part);
        result.inferred.add(part);
      }
    }
  }
  result.families = families.all();
  return result;
}

/** Those in the flow before a call; else those of branches that began in it; else all. */
function nearest(fitting: readonly Said[], before: ReadonlySet<string>, flow: CallFlow): Said[] {
  if (before.size === 0 || fitting.length < 2) return [...fitting];
  const inFlow = fitting.filter(({ call }) => before.has(call.id));
  if (inFlow.length > 0) return inFlow;
  const branches = fitting.filter(({ call }) =>
    Iterator.from(flow(call))
      .take(50)
      .some((id) => before.has(id)),
  );
  return branches.length > 0 ? branches : [...fitting];
}

/** What the user asked in a call: all since the last reply, for a program may ask how to answer in a message of its own. */
function questionsOf({ messages }: RecordedCall): string[] {
  const told = toldTask(messages);
  if (told !== undefined) return [told];
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const asked = since.flatMap(({ role, content }) => (role === "user" ? plainQuestion(content) : []));
  // Who picks the next speaker is told all in its instructions.
  return asked.length > 0 ? asked : messages.slice(0, 1).map(({ content }) => content);
}

/** A question without our own rules' request for a plan. */
function plainQuestion(content: string): string {
  const question = askedQuestion(content);
  return question === undefined ? content : `Question: ${question}`;
}

/** Whether an agent speaks as the rules of our small team let it, whose members take turns over one question. */
function takesTurns({ calls: [first] }: Thread): boolean {
  const request = ({ role, content }: Message) => role === "user" && teamRequestIn(content) !== undefined;
  return toldTools(systemOf(first!)).length > 0 || first!.messages.some(request);
}

/** Whether a prompt holds a short reply, or a value of one, as words of its own. */
function holdsWords(prompt: string, reply: string, least = 3): boolean {
  const values = [reply, ...[...reply.matchAll(/"([^"]{3,24})"/g)].map((match) => match[1]!)].map(squeeze);
  return values.some((value) => {
    const at = value.length < least ? -1 : prompt.indexOf(value);
    return at >= 0 && !/[\p{L}\p{N}]/u.test((prompt[at - 1] ?? " ") + (prompt[at + value.length] ?? " "));
  });
}

/**
 * Groups of first agents that were asked the same under other instructions; `whole` where all others work beside it,
 * `beside` where it is not known beside which of several that ran at once.
 */
function sameQuestion(
  roots: readonly Thread[],
  spanOf: (root: Thread) => { from: number; to: number },
): { parts: Thread[]; whole?: Thread; beside?: true }[] {
  const asked = quoteIndex<Thread>();
  const questions = new Map(roots.map((root) => [root, questionsOf(root.calls[0]!)]));
  const question = (root: Thread) => questions.get(root)!.join("\n");
  for (const root of roots) for (const passage of passagesOf(question(root))) asked.add(passage, root);
  const holders = new Map<string, Thread[]>();
  for (const root of roots) {
    for (const whole of new Set(questions.get(root)!.map(squeeze)))
      if (whole.length >= 12) addTo(holders, `whole ${whole}`, root);
    for (const passage of asked.in(question(root))) addTo(holders, passage, root);
  }
  /** Without instructions of its own, an agent is told who it is around the one question of its prompt. */
  const told = new Map<Thread, string>();
  for (const root of roots) {
    if (systemOf(root.calls[0]!) !== "") continue;
    const sentences = question(root).split(/(?<=\?)|[.:!\n]/);
    const [only, ...more] = sentences.filter((one) => one.endsWith("?") && one.length > 12);
    if (only === undefined || more.length > 0) continue;
    addTo(holders, `only ${squeeze(only)}`, root);
    told.set(root, question(root).replace(only, ""));
  }
  return [...holders].flatMap(([passage, group]) => {
    const isOnly = passage.startsWith("only ");
    const byInstructions = Map.groupBy(group, (root) => (isOnly ? told.get(root)! : systemOf(root.calls[0]!)));
    // A line that stands in several questions to one agent is of its template.
    const isWhole = group.some((root) => squeeze(question(root)) === passage);
    const isTemplate =
      !isWhole && !isOnly && [...byInstructions.values()].some((same) => new Set(same.map(question)).size > 1);
    if (byInstructions.size < 2 || isTemplate) return [];
    const planners = group.filter(({ calls }) =>
      calls[0]!.messages.some((one) => askedQuestion(one.content) !== undefined),
    );
    if (planners.length === 1 && group.every(takesTurns)) return [{ whole: planners[0]!, parts: group }];
    const parts = group.filter((root) => !isSide(root));
    if (parts.length === 1) return [{ whole: parts[0]!, parts: group.filter((root) => root !== parts[0]) }];
    // Teams that call each other by tools are whole; one that only spoke may be a step of the others.
    const bare = parts.filter((root) => root.calls.every((call) => call.toolCalls.length === 0));
    const instructions = [...byInstructions.values()].filter((same) => same.some((root) => parts.includes(root)));
    if (bare.length > 0 && instructions.length > 1) return [{ parts }];
    if (parts.length === group.length) return [];
    const spans = parts.map((root) => ({ root, ...spanOf(root) })).sort((a, b) => a.from - b.from);
    const atOnce = spans.filter(
      ({ from, to }, index) =>
        (spans[index - 1]?.to ?? Number.NEGATIVE_INFINITY) > from ||
        (spans[index + 1]?.from ?? Number.POSITIVE_INFINITY) < to,
    );
    return atOnce.length > 0 ? [{ parts: atOnce.map(({ root }) => root), beside: true as const }] : [];
  });
}

/** Whether a thread works beside the others: a title, a guard, who speaks next. */
export function isSide({ calls }: Thread): boolean {
  return sideKind(calls[0]!.messages, calls[0]!.tools.length > 0) !== undefined;
}

/** Sets of threads, each known by its earliest. */
function disjointSets(sorted: readonly Thread[]) {
  const above = new Map<Thread, Thread>();
  const place = new Map(sorted.map((thread, index) => [thread, index]));
  const of = (thread: Thread): Thread => {
    let root = thread;
    for (let next = above.get(root); next; next = above.get(root)) root = next;
    for (let at = thread; at !== root; ) {
      const next = above.get(at)!;
      above.set(at, root);
      at = next;
    }
    return root;
  };
  return {
    of,
    join(a: Thread, b: Thread) {
      const [one, other] = [of(a), of(b)];
      if (one === other) return;
      if (place.get(one)! < place.get(other)!) above.set(other, one);
      else above.set(one, other);
    },
    all: () => [...Map.groupBy(sorted, of).values()],
  };
}
