/** A list of values of which one is chosen. */
import { go, pathPart, place, setQuery } from "../router.ts";

/** Values with the words that stand for them. */
export type Options = readonly (readonly [value: string, text: string])[];

interface Props {
  label: string;
  /** The label is only for those who can't see the list. */
  quiet?: boolean;
  value: string;
  options: Options;
  onChoose: (value: string) => void;
}

export function Choice({ label, quiet, value, options, onChoose }: Props) {
  return (
    <label class="soft">
      <span class={quiet ? "hidden" : ""}>{label}</span>{" "}
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(([one, text]) => (
          <option value={one}>{text}</option>
        ))}
      </select>
    </label>
  );
}

/** A choice that stands in the address; it moves the list that it narrows to its beginning. */
export function QueryChoice({ name, label, options }: { name: string; label: string; options: Options }) {
  const value = place.value.query.get(name) ?? options[0]![0];
  const moved = name === "only" ? { at: undefined, in: undefined } : {};
  const choose = (chosen: string) => setQuery({ [name]: chosen, row: undefined, ...moved });
  return <Choice label={label} value={value} options={options} onChoose={choose} />;
}

/** The folders that a screen can show, where there are several. */
export function FolderChoice(props: { label: string; folders: readonly string[]; folder: string; route: string }) {
  const { label, folders, folder, route } = props;
  if (folders.length < 2) return null;
  const options = folders.map((one) => [one, one] as const);
  const choose = (chosen: string) => go(`${route}/${pathPart(chosen)}`);
  return <Choice label={label} quiet value={folder} options={options} onChoose={choose} />;
}
