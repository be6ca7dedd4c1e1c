/**
 * The field in which the words of one segment are changed. The whole text is loaded before it can be edited; what the
 * profile forbids is said at the field, and nothing is saved.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Violation } from "../../../core/trajectory.ts";
import type { ChainView, SegmentView } from "../../api/chain-view.ts";
import { askJson } from "../server.ts";

export interface SegmentEditorProps {
  chain: ChainView;
  /** The file that the chain stands in. */
  file: string;
  segment: SegmentView;
  /** Its words by an earlier edit. */
  edited?: string;
  refusal?: { message: string; problems: readonly Violation[] };
  onSave: (text: string) => void;
  onCancel: () => void;
  /** The word on the button. */
  saves?: string;
}

const mostCharacters = 1_000_000;

export function SegmentEditor(props: SegmentEditorProps) {
  const { chain, segment, edited, refusal } = props;
  const [text, setText] = useState<string | undefined>();
  const [problem, setProblem] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    let gone = false;
    const whole = edited === undefined ? wholeText(chain, props.file, segment) : Promise.resolve(edited);
    whole.then(
      (loaded) => gone || setText(loaded),
      (error: Error) => gone || setProblem(error.message),
    );
    return () => {
      gone = true;
    };
  }, [chain.id, segment.index]);
  const ready = text !== undefined;
  useEffect(() => {
    if (ready) field.current?.focus();
  }, [ready]);
  const isCall = chain.segments[segment.index + 1]?.by === "tool";
  const save = (event: Event) => {
    event.preventDefault();
    props.onSave(field.current!.value);
  };
  const here = refusal?.problems.filter((one) => one.segment === segment.index) ?? [];
  const elsewhere = refusal?.problems.filter((one) => one.segment !== segment.index) ?? [];
  if (problem !== "") return <p class="error">{problem}</p>;
  if (!ready) return <p class="soft">Loading the whole text…</p>;
  return (
    <form class="segment-editor" onSubmit={save}>
      <textarea
        ref={field}
        dir="auto"
        rows={Math.min(20, text.split("\n").length + 2)}
        aria-label={`Text of segment ${segment.index}`}
        aria-invalid={refusal !== undefined}
        aria-describedby={`refusal-${segment.index}`}
        defaultValue={text}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(event);
          if (event.key === "Escape") props.onCancel();
        }}
      />
      <div id={`refusal-${segment.index}`} class="error" role="alert">
        {refusal && here.length === 0 && elsewhere.length === 0 && <p>{refusal.message}</p>}
        {here.map(({ message }) => (
          <p>{message}</p>
        ))}
        {elsewhere.map(({ segment: other, message }) => (
          <p>
            segment {other} does not fit any more: {message}
          </p>
        ))}
      </div>
      {isCall && <p class="soft">What the tool returned stays: it is the result of the call as it was.</p>}
      <p>
        <button type="submit" class="primary">
          {props.saves ?? "Save"}
        </button>{" "}
        <kbd>ctrl+enter</kbd>{" "}
        <button type="button" onClick={props.onCancel}>
          Cancel
        </button>{" "}
        <kbd>escape</kbd>
      </p>
    </form>
  );
}

/** The text of a segment, loaded part by part. */
async function wholeText(chain: ChainView, file: string, segment: SegmentView): Promise<string> {
  let { text } = segment.text;
  const { length } = segment.text;
  if (length > mostCharacters)
    throw new Error(`This text has ${length.toLocaleString("en")} characters: too long to edit here.`);
  while (text.length < length) {
    const path = `segments.${segment.index}.text`;
    const query = new URLSearchParams({ kind: "chain", id: chain.id, in: file, path, from: String(text.length) });
    const part = await askJson<{ text: string }>(`text?${query}`);
    if (part.text === "") break;
    text += part.text;
  }
  return text;
}
