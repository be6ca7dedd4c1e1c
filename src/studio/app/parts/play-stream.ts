/**
 * One chain that is being played: its segments as they come, and the whole trajectory at its end. Pieces of text arrive by
 * the hundred, so the page is drawn once for each frame, not once for each piece.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Segment, Trajectory } from "../../../core/trajectory.ts";
import { askJson, eventsOf, post } from "../server.ts";

/** A segment as far as it was written. */
export type PlayedSegment = Pick<Segment, "tag" | "text" | "by" | "call">;

interface State {
  segments: PlayedSegment[];
  running: boolean;
  error?: string;
  /** Once it has ended. */
  trajectory?: Trajectory;
}

export interface Played extends State {
  /** Starts with a question, or continues from a trajectory. */
  play(body: { question?: string; trajectory?: Trajectory; temperature?: number; seed?: number }): void;
  stop(): void;
}

/** What the server tells of a running chain. */
type PlayEvent =
  | { type: "role-start"; role: string }
  | { type: "role-delta" | "answer-delta" | "answer"; text: string }
  | { type: "role-end" }
  | { type: "tool"; tool: string; input: unknown; output: string; ok: boolean; ms: number }
  | { type: "end"; trajectory: Trajectory }
  | { type?: undefined; error: { message: string } };

/** A player's side; `id` is the chain it played before, as the address says. */
export function usePlay(player: string, id: string | undefined, onEnd: (id: string) => void): Played {
  const state = useRef<State>({ segments: [], running: false });
  const [, redraw] = useState(0);
  const frame = useRef(0);
  const stopper = useRef<AbortController | undefined>(undefined);
  const draw = () => {
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0;
      redraw((number) => number + 1);
    });
  };
  const show = (change: Partial<State>) => {
    state.current = { ...state.current, ...change };
    draw();
  };
  useEffect(() => () => stopper.current?.abort(), []);
  useEffect(() => {
    if (id === undefined || state.current.running || state.current.trajectory?.id === id) return;
    askJson<Trajectory>(`played?${new URLSearchParams({ id })}`).then(
      (trajectory) => show({ trajectory, segments: trajectory.segments, error: undefined }),
      (error: Error) => show({ error: error.message }),
    );
  }, [id]);
  const play: Played["play"] = async (body) => {
    stopper.current?.abort();
    const own = new AbortController();
    stopper.current = own;
    const begun = body.trajectory?.segments ?? [];
    show({ segments: [...begun], running: true, error: undefined, trajectory: undefined });
    try {
      const answer = await post("play", { ...body, player }, own.signal);
      for await (const event of eventsOf<PlayEvent>(answer)) {
        if (own.signal.aborted) return;
        if (event.type === undefined) show({ error: event.error.message });
        else if (event.type === "end") {
          show({ trajectory: event.trajectory, segments: event.trajectory.segments });
          onEnd(event.trajectory.id);
        } else {
          take(state.current.segments, event);
          draw();
        }
      }
    } catch (error) {
      if (!own.signal.aborted) show({ error: (error as Error).message });
    }
    if (stopper.current === own) show({ running: false });
  };
  const stop = () => {
    stopper.current?.abort();
    show({ running: false });
  };
  return { ...state.current, play: (body) => void play(body), stop };
}

/** Adds what an event says to the segments. */
function take(segments: PlayedSegment[], event: Exclude<PlayEvent, { type: "end" } | { type?: undefined }>): void {
  const last = segments.at(-1);
  const addTo = (tag: string, text: string) => {
    if (last?.tag === tag && last.by === "model") segments[segments.length - 1] = { ...last, text: last.text + text };
    else segments.push({ tag, text, by: "model" });
  };
  if (event.type === "role-start") segments.push({ tag: event.role, text: "", by: "model" });
  else if (event.type === "role-delta" && last) addTo(last.tag, event.text);
  else if (event.type === "answer-delta") addTo("answer", event.text);
  else if (event.type === "answer" && last?.tag !== "answer") addTo("answer", event.text);
  else if (event.type === "tool") {
    const { tool, input, output, ok, ms } = event;
    segments.push({ tag: "observation", text: output, by: "tool", call: { tool, input, ok, ms } });
  }
}

/** The chain up to a segment, with other words in it: what the model continues from. */
export function cutChain(chain: Trajectory, at: number, text: string): Trajectory {
  const { tokens: _tokens, logprobs: _logprobs, entropies: _entropies, raw, ...segment } = chain.segments[at]!;
  const inside = raw?.indexOf(segment.text) ?? -1;
  const around = raw !== undefined && inside >= 0 && segment.text !== "";
  const edited: Segment = {
    ...segment,
    text,
    ...(around && { raw: raw.slice(0, inside) + text + raw.slice(inside + segment.text.length) }),
  };
  const same = chain.segments[at]!.text === text;
  return {
    ...chain,
    segments: [...chain.segments.slice(0, at), same ? chain.segments[at]! : edited],
    ...(chain.compactions && { compactions: chain.compactions.filter(({ fromSegment }) => fromSegment <= at) }),
    violations: chain.violations.filter(({ segment: place }) => place < at),
  };
}
