/**
 * One turn of the model: it writes until it calls a tool, answers, ends or has no tokens left. The text streams through
 * the tag reader, which turns it into segments while it arrives; what a careless server writes past the end of the turn,
 * or an observation that the model makes up, is dropped. A turn may take several calls when one call's tokens run out.
 */
import type { ChainEvent } from "../core/events.ts";
import type { CallUsage, ContinueEvent } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { looseText, type Segment, type Violation, writtenForm } from "../core/trajectory.ts";
import { type Profile, tagNames, tagSpec } from "../language/profile.ts";
import { type ReadSegment, type TagReaderOptions, tagReader } from "../language/tag-reader.ts";
import { DeadlineError } from "./deadline.ts";

/** How a call ended, as far as the chain is concerned. */
export type TurnFinish = "stop" | "length" | "end" | "deadline";

/** What was heard from the model in one call, up to where the turn ended. */
export interface HeardCall {
  text: string;
  tokens?: number[];
  logprobs?: number[];
  /** Where in the text each token begins. */
  starts?: number[];
}

export interface CallOutcome extends HeardCall {
  finish: TurnFinish;
  usage: CallUsage;
  /** Tokens of the completion that became part of the chain. */
  keptTokens: number;
}

export interface ModelTurn {
  /** Everything kept so far in this turn. */
  text(): string;
  tokens(): readonly number[];
  /** Segments that have ended, and the tag that is open. */
  progress(): { segments: readonly Segment[]; open: string | undefined };
  /** Reads one call's events into the turn. */
  read(
    events: AsyncIterable<ContinueEvent>,
    count: (text: string) => number,
    promptTokens: number,
  ): Promise<CallOutcome>;
  /** Feeds a recorded call through the same reader. */
  replay(heard: HeardCall): void;
  /** Ends the turn: its segments in order, and what was wrong with their form. */
  finish(): { segments: Segment[]; unclosed: ReadonlySet<Segment>; violations: Violation[] };
}

const readers = new WeakMap<Profile, TagReaderOptions>();

function readerOptions(profile: Profile): TagReaderOptions {
  let options = readers.get(profile);
  if (!options) {
    const verbatim = profile.tags.filter((tag) => tag.body.kind === "code").map((tag) => tag.name);
    readers.set(profile, (options = { tags: tagNames(profile), verbatim }));
  }
  return options;
}

/** Begins a turn; `firstIndex` is the place of its first segment in the chain. */
export function modelTurn(
  profile: Profile,
  firstIndex: number,
  emit: ((event: ChainEvent) => void) | undefined,
  tokenizer?: Tokenizer,
): ModelTurn {
  const segments: Segment[] = [];
  const unclosed = new Set<Segment>();
  const violations: Violation[] = [];
  const report = (rule: string, message: string) =>
    violations.push({ rule, segment: firstIndex + segments.length, message });
  const sampled: { token: number; logprob: number | undefined; at: number }[] = [];
  let assigned = 0; // sampled tokens that belong to a finished segment
  let settled = 0; // sampled tokens of earlier calls: they were sent, so they stay
  let written = "";
  let finished = false;
  const decoder = tokenizer && new TextDecoder("utf-8", { ignoreBOM: true });
  let calls = 0;

  function take(end: number): Pick<Segment, "tokens" | "logprobs"> {
    if (sampled.length === 0) return {};
    const from = assigned;
    while (assigned < sampled.length && sampled[assigned]!.at < end) assigned++;
    const own = sampled.slice(from, assigned);
    const tokens = own.map((entry) => entry.token);
    if (own.some((entry) => entry.logprob === undefined)) return { tokens };
    return { tokens, logprobs: own.map((entry) => entry.logprob!) };
  }

  function onClose(read: ReadSegment): boolean {
    const { tag, text, lead, closed } = read;
    const segment: Segment = { tag, text, by: "model", ...take(read.end) };
    if (tag !== looseText && (lead !== "" || !closed))
      segment.raw = `${lead}<${tag}>${text}${closed ? `</${tag}>` : ""}`;
    segments.push(segment);
    emit?.({ type: "segment-end", index: firstIndex + segments.length - 1, segment });
    if (!closed) {
      unclosed.add(segment);
      return false;
    }
    if (tag === profile.answer) return true;
    if (tagSpec(profile, tag)?.tool === undefined) return false;
    calls++;
    return calls >= profile.maxParallelCalls;
  }

  const reader = tagReader(readerOptions(profile), {
    open(tag) {
      if (tag === profile.observation) {
        if (calls === 0) report("author", "the model wrote an observation of its own; it was dropped");
        return true;
      }
      emit?.({ type: "segment-start", index: firstIndex + segments.length, tag, by: "model" });
      return false;
    },
    text: emit && ((text) => emit({ type: "segment-delta", index: firstIndex + segments.length, text })),
    close: onClose,
    problem(problem) {
      // Loose text is a segment of its own, which the validator finds.
      if (problem.kind === "stray-close") report("stray-close", problem.message);
      else if (problem.kind !== "loose-text") report("unclosed", problem.message);
    },
  });

  /**
   * Offers one delta to the reader. Where tokens are known the text is decoded from them here, over all calls of the turn:
   * a call may end in the middle of a character.
   */
  function feed(text: string, tokens: readonly number[] = [], logprobs: readonly number[] = []): void {
    if (!tokenizer || !decoder) {
      for (const [index, token] of tokens.entries())
        sampled.push({ token, logprob: logprobs[index], at: written.length });
      offer(text);
      return;
    }
    for (let index = 0; index < tokens.length && !reader.stopped(); index++) {
      const token = tokens[index]!;
      sampled.push({ token, logprob: logprobs[index], at: written.length });
      offer(decoder.decode(tokenizer.tokenBytes(token), { stream: true }));
    }
  }

  /** Where the reader stops, everything past that place is taken back. */
  function offer(text: string): void {
    reader.write(text);
    written += text;
    if (!reader.stopped()) return;
    let end = reader.position();
    if (sampled.length > 0) {
      // A token cannot be cut: what it carries past the end stays, as the tail of the last segment.
      const firstPast = sampled.findIndex((entry, index) => index >= settled && entry.at >= reader.position());
      end = firstPast === -1 ? written.length : sampled[firstPast]!.at;
      if (firstPast !== -1) sampled.length = firstPast;
      const last = segments.at(-1);
      const tail = written.slice(reader.position(), end);
      if (last && tail !== "") last.raw = writtenForm(last) + tail;
    }
    written = written.slice(0, end);
  }

  return {
    text: () => written,
    tokens: () => sampled.map((entry) => entry.token),
    progress: () => ({ segments, open: reader.openTag() }),
    async read(events, count, promptTokens) {
      const before = { text: written.length, tokens: sampled.length };
      settled = sampled.length;
      const heard: Required<HeardCall> = { text: "", tokens: [], logprobs: [], starts: [] };
      let finish: TurnFinish = "end";
      let usage: CallUsage | undefined;
      try {
        for await (const event of events) {
          if (event.type === "end") {
            finish = event.finish;
            usage = event.usage;
          } else if (!reader.stopped()) {
            for (const token of event.tokens ?? []) {
              heard.tokens.push(token);
              heard.starts.push(heard.text.length);
            }
            for (const logprob of event.logprobs ?? []) heard.logprobs.push(logprob);
            heard.text += event.text;
            feed(event.text, event.tokens, event.logprobs);
          } else if (event.text.trim() !== "") break; // a server that ignores stop strings: the call is closed
        }
      } catch (error) {
        if (!(error instanceof DeadlineError)) throw error;
        finish = "deadline";
      }
      if (reader.stopped()) finish = "stop";
      const cut = heard.text.length > written.length - before.text;
      const kept = sampled.length > 0 ? Math.max(0, sampled.length - before.tokens) : count(written.slice(before.text));
      return {
        ...(heard.tokens.length > 0 ? heard : { text: heard.text }),
        finish,
        usage: usage ?? { promptTokens, completionTokens: kept },
        keptTokens: sampled.length > 0 || cut || !usage ? kept : usage.completionTokens,
      };
    },
    replay({ text, tokens = [], logprobs, starts = [] }) {
      settled = sampled.length;
      if (tokens.length === 0) return feed(text);
      for (let index = 0; index < tokens.length; ) {
        let next = index + 1;
        while (next < tokens.length && starts[next] === starts[index]) next++;
        feed(text.slice(starts[index], starts[next]), tokens.slice(index, next), logprobs?.slice(index, next));
        index = next;
      }
    },
    finish() {
      if (finished) return { segments, unclosed, violations };
      finished = true;
      if (decoder && !reader.stopped()) offer(decoder.decode());
      const space = reader.end();
      const last = segments.at(-1);
      if (space !== "") {
        if (last && last.tag !== looseText) last.raw = writtenForm(last) + space;
        else if (last) last.text += space;
      }
      if (!last && (space !== "" || sampled.length > 0)) {
        segments.push({ tag: looseText, text: space, by: "model", ...take(Number.POSITIVE_INFINITY) });
      }
      if (last && assigned < sampled.length) {
        const rest = take(Number.POSITIVE_INFINITY);
        last.tokens = [...(last.tokens ?? []), ...(rest.tokens ?? [])];
        if (last.logprobs && rest.logprobs) last.logprobs = [...last.logprobs, ...rest.logprobs];
      }
      return { segments, unclosed, violations };
    },
  };
}
