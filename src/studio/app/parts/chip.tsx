import type { LineageNode } from "../../api/overview-reader.ts";

/** A small word with a colour that means something. */
export function Chip({ text, hue = "none", title }: { text: string; hue?: string; title?: string }) {
  return (
    <bdi class={`chip tiny hue-${hue}`} title={title}>
      {text.length > 120 ? `${text.slice(0, 120)}…` : text}
    </bdi>
  );
}

/** The hue of a reward: right, wrong, between, or not known. */
export const hueOfReward = (reward: number | null | undefined) =>
  reward == null ? "none" : reward >= 1 ? "green" : reward <= 0 ? "rose" : "amber";

/** A reward in words. */
export function RewardChip({ reward }: { reward: number | null | undefined }) {
  if (reward == null) return null;
  const text = reward >= 1 ? "✓ right" : reward <= 0 ? "✗ wrong" : `reward ${Number(reward.toFixed(3))}`;
  return <Chip text={text} hue={hueOfReward(reward)} />;
}

type WorkState = NonNullable<LineageNode["state"]>;

const stateHues: Record<WorkState, string> = { running: "blue", done: "green", stopped: "amber", failed: "rose" };

export function StateChip({ state }: { state: WorkState }) {
  return <Chip text={state} hue={stateHues[state]} />;
}
