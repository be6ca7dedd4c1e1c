/** Segments one below the other, all unfolded; the selected one can be edited in its place. */
import type { ComponentChildren } from "preact";
import { hueOf } from "./hues.ts";
import { SegmentEditor, type SegmentEditorProps } from "./segment-editor.tsx";

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
