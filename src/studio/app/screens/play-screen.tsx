/**
 * The playground: a question to one or two models, roles and tools as they come, and any segment can be given other words
 * from which the model then continues. Question, settings and the chains that came of them stand in the address.
 */
import { useRef } from "preact/hooks";
import { count } from "../../../report/format-figures.ts";
import type { PlayerAbout } from "../../api/play-routes.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Button } from "../parts/button.tsx";
import { Chip } from "../parts/chip.tsx";
import { cursor } from "../parts/cursor.ts";
import { LongText } from "../parts/long-text.tsx";
import { cutChain, type Played, usePlay } from "../parts/play-stream.ts";
import { CallChip } from "../parts/segment-list.tsx";
import { SegmentRows } from "../parts/segment-rows.tsx";
import { Missing, Nothing } from "../parts/states.tsx";
import { href, pathPart, place, setQuery } from "../router.ts";
import { type Resource, useResource } from "../server.ts";

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
  const active = Math.min(sides.length - 1, Number(query.get("side") ?? 0));
  const editing = query.get("edit") === "1";
  const field = useRef<HTMLTextAreaElement>(null);
  const number = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined);
  const settings = { temperature: number("temperature"), seed: number("seed") };
  const run = (event?: Event) => {
    event?.preventDefault();
    const question = field.current?.value.trim() ?? "";
    if (question === "") return field.current?.focus();
    field.current?.blur();
    setQuery({ ask: question, a: undefined, b: undefined, seg: undefined, edit: undefined });
    for (const { played } of sides) played.play({ question, ...settings });
  };
  const tryOut = (question: string) => {
    field.current!.value = question;
    run();
  };
  const side = sides[active]!;
  const chain = side.played.trajectory;
  const { at, move } = cursor("seg", side.played.segments.length, { edit: undefined });
  const ends = chain?.language?.profile.answer ?? "answer";
  const edit = () => {
    const segment = chain?.segments[at];
    if (segment && segment.tag !== ends && segment.by !== "runtime") setQuery({ edit: 1 });
  };
  const resume = (text: string) => {
    if (!chain) return;
    setQuery({ edit: undefined });
    side.played.play({ trajectory: cutChain(chain, at, text), ...settings });
  };
  const stop = () => sides.forEach(({ played }) => void played.stop());
  useKeys([
    { keys: "i", does: "Write a question", run: () => field.current?.focus() },
    { keys: "r", does: "Run the question", run },
    { keys: "s", does: "Stop", run: stop },
    ...stepKeys("l", "h", "segment", move),
    { keys: "e", does: "Edit the segment and continue from it", run: edit },
    { keys: "]", does: "To the other model", run: () => setQuery({ side: (active + 1) % sides.length }) },
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
          {chain && <Button text="Edit the selected segment" keys="e" onClick={edit} />}
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
        {sides.map(({ name, about, played }, index) => (
          <PlaySide
            key={name}
            name={name}
            about={about}
            played={played}
            active={index === active}
            at={at}
            editing={editing}
            onSelect={(segment) => setQuery({ side: index, seg: segment, edit: undefined })}
            onContinue={resume}
            onCancel={() => setQuery({ edit: undefined })}
          />
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

interface Props {
  name: string;
  about: Resource<PlayerAbout>;
  played: Played;
  /** Whether the keys are for this side. */
  active: boolean;
  /** The selected segment; -1 for none. */
  at: number;
  editing: boolean;
  onSelect: (segment: number) => void;
  onContinue: (text: string) => void;
  onCancel: () => void;
}

/** One side of the playground: a model, what it wrote so far, what its tools returned, and what it cost. */
function PlaySide({ name, about, played, active, at, editing, onSelect, onContinue, onCancel }: Props) {
  const { segments, running, error, trajectory } = played;
  // By its folder: every trained model's own is called `model`.
  const model = name.replace(/[\\/]model[\\/]?$/, "");
  const { profile, tools = [] } = about.data ?? {};
  const editor = {
    load: async () => segments[at]?.text ?? "",
    note: "What stands after it is written again, with the tools as they are now.",
    onSave: onContinue,
    onCancel,
    saves: "Continue from here",
  };
  return (
    <section class={`play-side panel${active ? " active" : ""}`} aria-label={`Model ${name}`} aria-busy={running}>
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
        at={active ? at : -1}
        onSelect={onSelect}
        editor={editing ? editor : undefined}
        text={({ text, call }) => (
          <>
            {call && (
              <div class="chips">
                <CallChip call={call} />
                <Chip text={typeof call.input === "string" ? call.input : (JSON.stringify(call.input) ?? "")} />
              </div>
            )}
            <LongText value={{ text: text.slice(0, 8_000), length: text.length }} whole={text} />
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
