/** Rows that unfold: a name, one line of text, a figure; below it the details of the one that is selected. */
import type { ComponentChildren } from "preact";
import { OneLine } from "./long-text.tsx";
import { type Selection, select } from "./selection.ts";

interface Props {
  /** What it selects; it is the row of this step or segment. */
  of: Selection;
  class: string;
  name: ComponentChildren;
  text: string;
  figure: ComponentChildren;
  isOpen: boolean;
  /** What stands below the line, open or not. */
  note?: ComponentChildren;
  detail: () => ComponentChildren;
}

export function Row({ of, class: marks, name, text, figure, isOpen, note, detail }: Props) {
  return (
    <li class={`row ${marks}${isOpen ? " selected open" : ""}`} data-step={of.step} data-segment={of.segment}>
      <button type="button" class="row-head cells bare" aria-expanded={isOpen} onClick={() => select(isOpen ? {} : of)}>
        <span class="row-name one-line small">{name}</span>
        <OneLine text={text} />
        <span class="soft one-line tiny">{figure}</span>
      </button>
      {note}
      {isOpen && <div class="row-detail">{detail()}</div>}
    </li>
  );
}
