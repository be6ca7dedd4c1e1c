/** One side of the playground: a model, what it wrote so far, what its tools returned, and what it cost. */
import { useState } from "preact/hooks";
import { count, duration } from "../../../report/format-figures.ts";
import type { PlayerAbout } from "../../api/play-routes.ts";
import { href, pathPart } from "../router.ts";
import type { Resource } from "../server.ts";
import { Chip } from "./chip.tsx";
import { hueOf } from "./hues.ts";
import type { Played, PlayedSegment } from "./play-stream.ts";
import { SegmentEditor } from "./segment-editor.tsx";

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

export function PlaySide({ name, about, played, active, at, editing, onSelect, onContinue, onCancel }: Props) {
  const { segments, running, error, trajectory } = played;
  return (
    <section class={`play-side${active ? " active" : ""}`} aria-label={`Model ${name}`} aria-busy={running}>
      <h2>
        <bdi>{about.data?.model ?? name}</bdi>{" "}
        <span class="soft">
          {about.data ? [about.data.profile, about.data.tools.join(", ")].filter(Boolean).join("; ") : ""}
        </span>
      </h2>
      {about.loading && <p class="soft">Opening the model…</p>}
      {about.error && <p class="error">{about.error}</p>}
      {about.data && segments.length === 0 && !running && !error && (
        <p class="soft">What it writes and what its tools return will stand here.</p>
      )}
      <ol class="review-segments">
        {segments.map((segment, index) => (
          <li
            class={`review-segment by-${segment.by} hue-${hueOf(segment.tag)}${active && index === at ? " selected" : ""}`}
            data-segment={index}
            aria-current={active && index === at ? "true" : undefined}
          >
            <button type="button" class="review-tag" onClick={() => onSelect(index)}>
              <bdi>{segment.tag.slice(0, 60)}</bdi>
            </button>
            {active && index === at && editing ? (
              <SegmentEditor
                index={index}
                load={async () => segment.text}
                note="What stands after it is written again, with the tools as they are now."
                onSave={onContinue}
                onCancel={onCancel}
                saves="Continue from here"
              />
            ) : (
              <div class="review-text">
                {segment.call && <Receipt call={segment.call} />}
                <OwnText text={segment.text} />
              </div>
            )}
          </li>
        ))}
      </ol>
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

/** What a tool was asked, and how it went. */
function Receipt({ call }: { call: NonNullable<PlayedSegment["call"]> }) {
  const input = typeof call.input === "string" ? call.input : (JSON.stringify(call.input) ?? "");
  return (
    <div class="chips">
      <Chip text={`${call.tool}${call.ok ? "" : " failed"}, ${duration(call.ms)}`} hue={call.ok ? undefined : "rose"} />
      <Chip text={input} />
    </div>
  );
}

const shownCharacters = 8_000;
const partCharacters = 100_000;

/** A text that is all here; of a long one the beginning is drawn. */
function OwnText({ text }: { text: string }) {
  const [length, setLength] = useState(shownCharacters);
  return (
    <>
      <pre class="wrap text" dir="auto">
        {text.slice(0, length)}
      </pre>
      {text.length > length && (
        <p class="not-loaded">
          {count(text.length - length)} more characters are not shown{" "}
          <button type="button" class="quiet" onClick={() => setLength(length + partCharacters)}>
            show more
          </button>
        </p>
      )}
    </>
  );
}
