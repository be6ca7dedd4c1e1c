import type { LineageNode } from "../../api/overview-reader.ts";

/** A small word with a colour that means something. */
export function Chip({ text, hue = "none", title }: { text: string; hue?: string; title?: string }) {
  return (
    <bdi class={`chip tiny hue-${hue}`} title={title}>
      {text.length > 120 ? `${text.slice(0, 120)}…` : text}
    </bdi>
  );
}

type WorkState = NonNullable<LineageNode["state"]>;

const stateHues: Record<WorkState, string> = { running: "blue", done: "green", stopped: "amber", failed: "rose" };

export function StateChip({ state }: { state: WorkState }) {
  return <Chip text={state} hue={stateHues[state]} />;
}
