/** Segments one below the other, all unfolded; the selected one can be edited in its place. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Violation } from "../../../core/trajectory.ts";
import { Button } from "./button.tsx";
import { hueOf } from "./hues.ts";

interface Props<T> {
  segments: readonly T[];
  /** The selected segment; -1 for none. */
  at: number;
  onSelect: (segment: number) => void;
  /** The editor of the selected segment, where it is open. */
  editor?: Omit<SegmentEditorProps, "index">;
  mark?: (segment: T, index: number) => ComponentChildren;
  text: (segment: T, index: number) => ComponentChildren;
}

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
          <button type="button" class="review-tag bare" onClick={() => onSelect(index)}>
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
  saves?: string;
}

/**
 * The field in which the words of one segment are changed. The whole text is loaded before it can be edited; what the
 * profile forbids is said at the field, and nothing is saved.
 */
function SegmentEditor({ index, load, note, refusal, onSave, onCancel, saves }: SegmentEditorProps) {
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
          {saves ?? "Save"} <kbd>ctrl+enter</kbd>
        </button>{" "}
        <Button text="Cancel" keys="escape" onClick={onCancel} />
      </p>
    </form>
  );
}
