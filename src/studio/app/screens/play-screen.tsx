/**
 * The playground: a question to one or two models, roles and tools as they come. Question, settings and the chains that came
 * of them stand in the address.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Trajectory } from "../../../core/trajectory.ts";
import { count } from "../../../report/format-figures.ts";
import type { PlayerAbout } from "../../api/play-routes.ts";
import { useKeys } from "../keys.ts";
import { Button } from "../parts/button.tsx";
import { Chip } from "../parts/chip.tsx";
import { LongText } from "../parts/long-text.tsx";
import { type PlayEvent, type PlayedSegment, takeEvent } from "../parts/played-segments.ts";
import { CallChip, SegmentRows } from "../parts/segment-list.tsx";
import { Missing, Nothing } from "../parts/states.tsx";
import { href, pathPart, place, setQuery } from "../router.ts";
import { askJson, eventsOf, post, useResource } from "../server.ts";

export function PlayScreen(_: { params: Record<string, string> }) {
  const players = useResource<string[]>("players");
  const { data, error } = players;
  if (error || data?.length === 0) {
    return (
      <Nothing page title="No model plays here" command="coa studio --model …">
        with the folder or name of a model, or the address of a running coa serve, starts it. {error}
      </Nothing>
    );
  }
  if (!data) return <Missing page of={players} what="the models" />;
  return <Playground players={data} />;
}

function Playground({ players }: { players: readonly string[] }) {
  const { query } = place.value;
  const [first, second] = players;
  const sides = [
    useSide(first!, "a"),
    // A hook is called on every drawing: without a second model its side stays empty.
    useSide(second, "b"),
  ].slice(0, players.length);
  const field = useRef<HTMLTextAreaElement>(null);
  const number = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined);
  const settings = { temperature: number("temperature"), seed: number("seed") };
  const run = (event?: Event) => {
    event?.preventDefault();
    const question = field.current?.value.trim() ?? "";
    if (question === "") return field.current?.focus();
    field.current?.blur();
    setQuery({ ask: question, a: undefined, b: undefined });
    for (const { played } of sides) played.play({ question, ...settings });
  };
  const tryOut = (question: string) => {
    field.current!.value = question;
    run();
  };
  const stop = () => sides.forEach(({ played }) => void played.stop());
  useKeys([
    { keys: "i", does: "Write a question", run: () => field.current?.focus() },
    { keys: "r", does: "Run the question", run },
    { keys: "s", does: "Stop", run: stop },
  ]);
  const questions = sides.flatMap(({ about }) => about.data?.questions ?? []).slice(0, 5);
  return (
    <article class="play-screen">
      <h1>Playground</h1>
      <form class="play-form" onSubmit={run}>
        <label>
          Question
          <textarea
            ref={field}
            rows={2}
            defaultValue={query.get("ask") ?? ""}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && run(event)}
          />
        </label>
        <p class="play-settings flex">
          <button type="submit" class="primary">
            Run <kbd>ctrl+enter</kbd>
          </button>{" "}
          <Button text="Stop" keys="s" onClick={stop} disabled={!sides.some(({ played }) => played.running)} />
          <Setting name="temperature" step={0.1} />
          <Setting name="seed" step={1} />
        </p>
        {questions.length > 0 && (
          <p class="play-try chips">
            <span class="soft">try</span>{" "}
            {questions.map((question) => (
              <Button text={question} quiet onClick={() => tryOut(question)} />
            ))}
          </p>
        )}
      </form>
      <div class={`play-sides ${sides.length > 1 ? "columns" : ""}`}>
        {sides.map((side) => (
          <PlaySide key={side.name} {...side} />
        ))}
      </div>
    </article>
  );
}

function useSide(player: string | undefined, id: "a" | "b") {
  const about = useResource<PlayerAbout>(player && `player?${new URLSearchParams({ name: player })}`);
  const played = usePlay(player ?? "", place.value.query.get(id) ?? undefined, (chain) => setQuery({ [id]: chain }));
  return { name: player ?? "", about, played };
}

function Setting({ name, step }: { name: string; step: number }) {
  return (
    <label class="soft">
      {name}{" "}
      <input
        type="number"
        min={0}
        step={step}
        value={place.value.query.get(name) ?? ""}
        placeholder="0"
        onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
      />
    </label>
  );
}

/** One side of the playground: a model, what it wrote so far, what its tools returned, and what it cost. */
function PlaySide({ name, about, played }: ReturnType<typeof useSide>) {
  const { segments, running, error, trajectory } = played;
  // By its folder: every trained model's own is called `model`.
  const model = name.replace(/[\\/]model[\\/]?$/, "");
  const { profile, tools = [] } = about.data ?? {};
  return (
    <section class="play-side panel" aria-label={`Model ${name}`} aria-busy={running}>
      <h2>
        <bdi>{model}</bdi> <span class="soft">{[profile, tools.join(", ")].filter(Boolean).join("; ")}</span>
      </h2>
      {about.loading && <p class="soft">Opening the model…</p>}
      {about.error && <p class="error">{about.error}</p>}
      {about.data && segments.length === 0 && !running && !error && (
        <p class="soft">What it writes and what its tools return will stand here.</p>
      )}
      <SegmentRows
        segments={segments}
        text={({ text, call }) => (
          <>
            {call && (
              <div class="chips">
                <CallChip call={call} />
                <Chip text={typeof call.input === "string" ? call.input : (JSON.stringify(call.input) ?? "")} />
              </div>
            )}
            <LongText value={{ text, length: text.length }} />
          </>
        )}
      />
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <p class="play-end soft" role="status">
        {running ? "writing…" : trajectory ? endOf(trajectory) : ""}{" "}
        {trajectory && <a href={href(`/chains/${pathPart(trajectory.id)}`)}>open as a chain</a>}
      </p>
    </section>
  );
}

function endOf({ usage, ending, answer }: NonNullable<Played["trajectory"]>): string {
  const what = answer === null ? `no answer (${ending.reason})` : ending.reason;
  return `${what}; ${count(usage.completionTokens)} tokens written, ${count(usage.computedTokens)} computed, ${usage.toolCalls} tool calls`;
}

/*
 * One chain that is being played: its segments as they come, and the whole trajectory at its end. Pieces of text arrive by
 * the hundred, so the page is drawn once for each frame, not once for each piece.
 */

interface State {
  segments: PlayedSegment[];
  running: boolean;
  error?: string;
  /** Once it has ended. */
  trajectory?: Trajectory;
}

interface Played extends State {
  play(body: { question: string; temperature?: number; seed?: number }): void;
  stop(): void;
}

/** A player's side; `id` is the chain it played before, as the address says. */
function usePlay(player: string, id: string | undefined, onEnd: (id: string) => void): Played {
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
    show({ segments: [], running: true, error: undefined, trajectory: undefined });
    try {
      const answer = await post("play", { ...body, player }, own.signal);
      for await (const event of eventsOf<PlayEvent>(answer)) {
        if (own.signal.aborted) return;
        if (event.type === undefined) show({ error: event.error.message });
        else if (event.type === "end") {
          show({ trajectory: event.trajectory, segments: event.trajectory.segments });
          onEnd(event.trajectory.id);
        } else {
          takeEvent(state.current.segments, event);
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
