/** One side of the playground: a model, what it wrote so far, what its tools returned, and what it cost. */
import { count } from "../../../report/format-figures.ts";
import type { PlayerAbout } from "../../api/play-routes.ts";
import { href, pathPart } from "../router.ts";
import type { Resource } from "../server.ts";
import { Chip } from "./chip.tsx";
import { LongText } from "./long-text.tsx";
import type { Played } from "./play-stream.ts";
import { CallChip } from "./segment-list.tsx";
import { SegmentRows } from "./segment-rows.tsx";

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
