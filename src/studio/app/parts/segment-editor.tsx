/**
 * The field in which the words of one segment are changed. The whole text is loaded before it can be edited; what the
 * profile forbids is said at the field, and nothing is saved.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Violation } from "../../../core/trajectory.ts";
import { Button } from "./button.tsx";

export interface SegmentEditorProps {
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

export function SegmentEditor({ index, load, note, refusal, onSave, onCancel, saves }: SegmentEditorProps) {
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
