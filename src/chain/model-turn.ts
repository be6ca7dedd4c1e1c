/**
 * One turn of the model: it writes until it calls a tool, answers, ends or has no tokens left. The text streams through
 * the tag reader, which turns it into segments while it arrives; what a server writes after the end of the turn, or an
 * observation that the model invents, is dropped. A turn may take several calls when one call's tokens run out.
 */

import type { SampledToken } from "../core/chain-record.ts";
import type { ChainEvent } from "../core/events.ts";
import type { CallUsage, ContinueEvent } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { looseText, type Segment, type Violation, writtenForm } from "../core/trajectory.ts";
import { tagNames, tagSpec } from "../language/profile.ts";
import { type ReadSegment, type TagReaderOptions, tagReader } from "../language/tag-reader.ts";
import { DeadlineError } from "./deadline.ts";
import { sampledTokens, tokensOf } from "./sampled-tokens.ts";

/** How a call ended, as far as the chain is concerned. */
export type TurnFinish = "stop" | "length" | "end" | "deadline";

export interface ReceivedCall {
  text: string;
  tokens?: SampledToken[];
  policyVersion?: number;
}

export interface CallOutcome extends ReceivedCall {
  finish: TurnFinish;
  usage: CallUsage;
  /** Tokens of the completion that became part of the chain. */
  keptTokens: number;
}

export interface TurnOptions {
  profile: Profile;
  /** Place of the turn's first segment in the chain. */
  firstIndex: number;
  tokenizer: Tokenizer | undefined;
  onEvent: ((event: ChainEvent) => void) | undefined;
  /** Milliseconds since the chain began. */
  now(): number;
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

export function modelTurn({ profile, firstIndex, tokenizer, onEvent, now }: TurnOptions) {
  const segments: Segment[] = [];
  const unclosed = new Set<Segment>();
  const violations: Violation[] = [];
  const sampled = sampledTokens();
  const decoder = tokenizer && new TextDecoder("utf-8", { ignoreBOM: true });
  let written = "";
  let calls = 0; // closed tool tags
  let open: string | undefined; // the tag that is being written
  let startedAt = now(); // of the segment that is being written
  let policyVersion: number | undefined;
  let finished = false;
  const index = () => firstIndex + segments.length;
  const report = (rule: string, message: string) => violations.push({ rule, segment: index(), message });

  /** Adds what the reader has read; true where the turn ends with it. */
  function onClose({ tag, text, lead, closed, end }: ReadSegment): boolean {
    const segment: Segment = { tag, text, by: "model", ...sampled.take(end), startedAt, endedAt: now() };
    startedAt = segment.endedAt!;
    open = undefined;
    if (tag !== looseText && (lead !== "" || !closed))
      segment.raw = `${lead}<${tag}>${text}${closed ? `</${tag}>` : ""}`;
    onEvent?.({ type: "segment-end", index: index(), segment });
    segments.push(segment);
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
      open = tag;
      onEvent?.({ type: "segment-start", index: index(), tag, by: "model" });
      return false;
    },
    text: onEvent && ((text) => onEvent({ type: "segment-delta", index: index(), text })),
    close: onClose,
    problem(problem) {
      // Loose text is a segment of its own, which the validator finds.
      if (problem.kind === "stray-close") report("stray-close", problem.message);
      else if (problem.kind !== "loose-text") report("unclosed", problem.message);
    },
  });

  /**
   * Offers text of the call that began at `from` to the reader. Where a tokenizer is there the text is decoded from the tokens
   * here, over all calls of the turn: a call may end in the middle of a character.
   */
  function feed(text: string, tokens: readonly SampledToken[], from: number): void {
    for (const one of tokens) {
      if (reader.stopped()) return;
      sampled.push({ ...one, at: decoder ? written.length : from + one.at });
      if (decoder) offer(decoder.decode(tokenizer!.tokenBytes(one.token), { stream: true }));
    }
    if (!decoder) offer(text);
  }

  /** Where the reader stops, everything past that place is taken back. */
  function offer(text: string): void {
    reader.write(text);
    written += text;
    if (!reader.stopped()) return;
    const position = reader.position();
    // A token cannot be cut: what it carries past the end stays, as the tail of the last segment.
    const end = sampled.length > 0 ? sampled.cut(position, written.length) : position;
    const last = segments.at(-1);
    const tail = written.slice(position, end);
    if (last && tail !== "") last.raw = writtenForm(last) + tail;
    written = written.slice(0, end);
  }

  /** Gives white space and tokens at the end of the turn, which belong to no tag, to the last segment. */
  function addRemainder(space: string): void {
    const last = segments.at(-1);
    if (!last) {
      if (space === "" && sampled.length === 0) return;
      segments.push({ tag: looseText, text: space, by: "model", ...sampled.takeRest(), startedAt, endedAt: now() });
      return;
    }
    if (space !== "" && last.tag === looseText) last.text += space;
    else if (space !== "") last.raw = writtenForm(last) + space;
    Object.assign(last, sampled.takeRest());
  }

  return {
    /** Everything kept so far in this turn. */
    text: () => written,
    /** Whether it is writing its answer. */
    answers: () => open === profile.answer,
    tokens: () => sampled.ids(),
    async read(events: AsyncIterable<ContinueEvent>, count: (text: string) => number, promptTokens: number) {
      const before = { text: written.length, tokens: sampled.length };
      sampled.settle();
      let text = "";
      const tokens: SampledToken[] = [];
      let finish: TurnFinish = "end";
      let usage: CallUsage | undefined;
      try {
        for await (const event of events) {
          if (event.type === "end") {
            ({ finish, usage } = event);
            policyVersion = event.policyVersion ?? policyVersion;
          } else if (!reader.stopped()) {
            const own = tokensOf(event, text.length);
            tokens.push(...own);
            text += event.text;
            feed(event.text, own, before.text);
          } else if (event.text.trim() !== "") break; // a server that ignores stop strings: the call is closed
        }
      } catch (error) {
        if (!(error instanceof DeadlineError)) throw error;
        finish = "deadline";
      }
      if (reader.stopped()) finish = "stop";
      const cut = text.length > written.length - before.text;
      const kept = sampled.length > 0 ? Math.max(0, sampled.length - before.tokens) : count(written.slice(before.text));
      return {
        text,
        ...(tokens.length > 0 && { tokens }),
        ...(policyVersion !== undefined && { policyVersion }),
        finish,
        usage: usage ?? { promptTokens, completionTokens: kept },
        keptTokens: sampled.length > 0 || cut || !usage ? kept : usage.completionTokens,
      };
    },
    /** Feeds a recorded call through the same reader. */
    replay({ text, tokens = [], policyVersion: version }: ReceivedCall) {
      sampled.settle();
      policyVersion = version ?? policyVersion;
      feed(text, tokens, written.length);
    },
    /** Ends the turn: its segments in order, and what was wrong with their form. */
    finish() {
      if (!finished) {
        finished = true;
        if (decoder && !reader.stopped()) offer(decoder.decode());
        addRemainder(reader.end());
        if (policyVersion !== undefined) for (const segment of segments) segment.policyVersion = policyVersion;
      }
      return { segments, unclosed, violations };
    },
  };
}

export type ModelTurn = ReturnType<typeof modelTurn>;
