/** The segments of a chain in review, all unfolded; the selected one can be edited where the model wrote it. */
import type { SegmentEdit } from "../../../core/annotation.ts";
import type { ChainView } from "../../api/chain-view.ts";
import { Chip } from "./chip.tsx";
import { hueOf } from "./hues.ts";
import { LongText } from "./long-text.tsx";
import { SegmentEditor, type SegmentEditorProps } from "./segment-editor.tsx";
import { wholeText } from "./whole-text.ts";

const resultStays = "What the tool returned stays: it is the result of the call as it was.";

interface Props {
  chain: ChainView;
  edits?: readonly SegmentEdit[];
  /** The selected segment; -1 for none. */
  at: number;
  onSelect?: (segment: number) => void;
  /** What the editor of the selected segment needs; it is shown where this is given. */
  editor?: Omit<SegmentEditorProps, "index" | "load" | "note"> & { file: string };
}

export function ReviewSegments({ chain, edits = [], at, onSelect, editor }: Props) {
  const texts = new Map(edits.map(({ segment, text }) => [segment, text]));
  return (
    <ol class="review-segments">
      {chain.segments.map((segment) => {
        const edited = texts.get(segment.index);
        const chosen = segment.index === at;
        return (
          <li
            class={`review-segment by-${segment.by} hue-${hueOf(segment.tag)}${chosen ? " selected" : ""}`}
            data-segment={segment.index}
            aria-current={chosen ? "true" : undefined}
          >
            <button type="button" class="review-tag" onClick={() => onSelect?.(segment.index)}>
              <bdi>{segment.tag.slice(0, 60)}</bdi>
              {edited !== undefined && <Chip text="edited" hue="amber" />}
            </button>
            {chosen && editor ? (
              <SegmentEditor
                index={segment.index}
                load={() => (edited === undefined ? wholeText(chain, editor.file, segment) : Promise.resolve(edited))}
                note={chain.segments[segment.index + 1]?.by === "tool" ? resultStays : undefined}
                refusal={editor.refusal}
                onSave={editor.onSave}
                onCancel={editor.onCancel}
              />
            ) : (
              <div class="review-text">
                {edited === undefined ? (
                  <LongText
                    value={segment.text}
                    place={{ kind: "chain", id: chain.id, path: `segments.${segment.index}.text` }}
                  />
                ) : (
                  <>
                    <del>
                      <LongText value={segment.text} />
                    </del>
                    <ins>
                      <LongText value={{ text: edited, length: edited.length }} />
                    </ins>
                  </>
                )}
              </div>
            )}
          </li>
        );
      })}
    </ol>
  );
}
