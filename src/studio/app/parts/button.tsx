/** A button with the key that does the same. */
interface Props {
  text: string;
  keys?: string;
  onClick: () => void;
  /** It looks like a word, not like a button. */
  quiet?: boolean;
  /** What it does, where the text alone does not tell. */
  label?: string;
  disabled?: boolean;
}

export function Button({ text, keys, onClick, quiet, label, disabled }: Props) {
  return (
    <button type="button" class={quiet ? "quiet" : ""} aria-label={label} disabled={disabled} onClick={onClick}>
      <bdi>{text}</bdi> {keys && <kbd>{keys}</kbd>}
    </button>
  );
}
