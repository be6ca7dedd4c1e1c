/** A small word with a colour that means something. */
export function Chip({ text, hue, title }: { text: string; hue?: string; title?: string }) {
  return (
    <span class={`chip${hue ? ` hue-${hue}` : ""}`} title={title}>
      <bdi>{text.length > 120 ? `${text.slice(0, 120)}…` : text}</bdi>
    </span>
  );
}
