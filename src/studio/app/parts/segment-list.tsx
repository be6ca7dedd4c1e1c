/** The chain's segments in order, each with the agent that its words came from. The selected one is unfolded. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Violation } from "../../../core/trajectory.ts";
import { count, decimal, duration } from "../../../report/format-figures.ts";
import type { ChainView, SegmentView } from "../../api/chain-view.ts";
import type { RunView } from "../../api/run-view.ts";
import { href, pathPart } from "../router.ts";
import { Button } from "./button.tsx";
import { Chip } from "./chip.tsx";
import { hueOf } from "./hues.ts";
import { LongText } from "./long-text.tsx";
import { selection } from "./selection.ts";
import { Row } from "./step-list.tsx";

export function SegmentList({ chain, run, file }: { chain: ChainView; run?: RunView; file?: string }) {
  const { step, segment: chosen } = selection();
  const agents = new Map(run?.agents.map((agent) => [agent.id, agent.name]));
  const leftOut = Map.groupBy(chain.leftOut, ({ reason }) => reason);
  const wrong = new Map(chain.violations.map((violation) => [violation.segment, violation.message]));
  return (
    <section class="column" aria-label="Segments of the chain">
      <h2>
        Chain{" "}
        <span class="soft">
          {chain.segments.length} segments, {chain.profile}
        </span>{" "}
        {chain.hasTokens && <a href={href(`/chains/${pathPart(chain.id)}/tokens`, { in: file })}>tokens</a>}
      </h2>
      <ol class="rows plain">
        {chain.segments.map((segment) => {
          const { index, tag, by, from, tokens } = segment;
          const linked = step !== undefined && from?.step === step;
          const agent = from && (agents.get(from.agent) ?? from.agent);
          return (
            <Row
              of={{ segment: index }}
              class={`segment by-${by} hue-${hueOf(tag)}${linked ? " selected" : ""}`}
              name={<b dir="auto">{tag}</b>}
              text={segment.text.text || "(empty)"}
              figure={
                <>
                  <bdi>{agent ?? (tokens === undefined ? "" : `${count(tokens)} tokens`)}</bdi>
                  {segment.filled && <Chip text="filled" hue="amber" title={filledMeans} />}
                </>
              }
              isOpen={index === chosen}
              note={wrong.has(index) && <p class="error">{wrong.get(index)}</p>}
              detail={() => <SegmentDetail chain={chain} segment={segment} />}
            />
          );
        })}
      </ol>
      {leftOut.size > 0 && (
        <p class="chips soft">
          steps that it leaves out:
          {[...leftOut].map(([reason, steps]) => (
            <Chip text={`${steps.length} ${reason}`} title={steps.map(({ step }) => step).join(", ")} />
          ))}
        </p>
      )}
    </section>
  );
}

const filledMeans = "Written by the distiller to satisfy the profile; never trained on";

function SegmentDetail({ chain, segment }: { chain: ChainView; segment: SegmentView }) {
  const { by, call, from, tokens, meanLogprob, start, end } = segment;
  return (
    <>
      <div class="chips">
        <Chip text={`written by the ${by}`} />
        {from && <Chip text={`from ${from.agent}, ${from.step}`} />}
        {tokens !== undefined && <Chip text={`${tokens} tokens`} />}
        {meanLogprob !== undefined && <Chip text={`mean log-prob ${decimal(meanLogprob, 3)}`} />}
        {start !== undefined && end !== undefined && <Chip text={duration(end - start)} />}
        {call && <CallChip call={call} />}
        {call?.repeated && <Chip text="a repeated call: the earlier result" hue="amber" />}
        {call?.cutCharacters !== undefined && (
          <Chip text={`${count(call.cutCharacters)} characters were cut out`} hue="amber" />
        )}
      </div>
      <LongText value={segment.text} place={{ kind: "chain", id: chain.id, path: `segments.${segment.index}.text` }} />
    </>
  );
}

/** How a call of a tool went. */
export function CallChip({ call }: { call: NonNullable<SegmentView["call"]> }) {
  const { tool, ok, ms } = call;
  return <Chip text={`${tool}${ok ? "" : " failed"}, ${duration(ms)}`} hue={ok ? undefined : "rose"} />;
}

interface Props<T> {
  segments: readonly T[];
  /** The selected segment, where one can be selected. */
  at?: number;
  onSelect?: (segment: number) => void;
  /** The editor of the selected segment, where it is open. */
  editor?: Omit<SegmentEditorProps, "index">;
  mark?: (segment: T, index: number) => ComponentChildren;
  text: (segment: T, index: number) => ComponentChildren;
}

/** Segments one below the other, all unfolded; the selected one can be edited in its place. */
export function SegmentRows<T extends { tag: string; by: string }>(props: Props<T>) {
  const { segments, at, onSelect, editor, mark, text } = props;
  return (
    <ol class="plain">
      {segments.map((segment, index) => (
        <li
          class={`review-segment cells by-${segment.by} hue-${hueOf(segment.tag)}${index === at ? " selected" : ""}`}
          data-segment={index}
          aria-current={index === at ? "true" : undefined}
        >
          <button type="button" class="review-tag bare" disabled={!onSelect} onClick={() => onSelect?.(index)}>
            <bdi>{segment.tag.slice(0, 60)}</bdi>
            {mark?.(segment, index)}
          </button>
          {index === at && editor ? (
            <SegmentEditor {...editor} index={index} />
          ) : (
            <div class="review-text">{text(segment, index)}</div>
          )}
        </li>
      ))}
    </ol>
  );
}

interface SegmentEditorProps {
  /** The place of the segment in its chain. */
  index: number;
  load: () => Promise<string>;
  /** What is to be known before it is edited. */
  note?: string;
  refusal?: { message: string; problems: readonly Violation[] };
  onSave: (text: string) => void;
  onCancel: () => void;
}

/**
 * The field in which the words of one segment are changed. The whole text is loaded before it can be edited; what the
 * profile forbids is said at the field, and nothing is saved.
 */
function SegmentEditor({ index, load, note, refusal, onSave, onCancel }: SegmentEditorProps) {
  const [text, setText] = useState<string | undefined>();
  const [problem, setProblem] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    let gone = false;
    load().then(
      (loaded) => gone || setText(loaded),
      (error: Error) => gone || setProblem(error.message),
    );
    return () => {
      gone = true;
    };
  }, [index]);
  const ready = text !== undefined;
  useEffect(() => {
    if (ready) field.current?.focus();
  }, [ready]);
  const save = (event: Event) => {
    event.preventDefault();
    onSave(field.current!.value);
  };
  if (problem !== "") return <p class="error">{problem}</p>;
  if (!ready) return <p class="soft">Loading the whole text…</p>;
  return (
    <form class="segment-editor" onSubmit={save}>
      <textarea
        ref={field}
        dir="auto"
        rows={Math.min(20, text.split("\n").length + 2)}
        aria-label={`Text of segment ${index}`}
        aria-invalid={refusal !== undefined}
        aria-describedby={`refusal-${index}`}
        defaultValue={text}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(event);
          if (event.key === "Escape") onCancel();
        }}
      />
      <div id={`refusal-${index}`} class="error" role="alert">
        {refusal?.problems.length === 0 && <p>{refusal.message}</p>}
        {refusal?.problems.map(({ segment, message }) => (
          <p>
            {segment !== index && `segment ${segment} does not fit any more: `}
            {message}
          </p>
        ))}
      </div>
      {note && <p class="soft">{note}</p>}
      <p>
        <button type="submit" class="primary">
          Save <kbd>ctrl+enter</kbd>
        </button>{" "}
        <Button text="Cancel" keys="escape" onClick={onCancel} />
      </p>
    </form>
  );
}
