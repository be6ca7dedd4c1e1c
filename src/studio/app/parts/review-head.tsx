/** Where the queue of a review stands: how much is open, what is shown, and how to continue. */
import type { ReviewView } from "../../api/review-reader.ts";
import { place, setQuery } from "../router.ts";

const choices = {
  open: "still open",
  all: "all",
  keep: "kept",
  drop: "dropped",
  edit: "edited",
} as const;

export function ReviewHead({ view }: { view: ReviewView }) {
  const { counts, position, total } = view;
  return (
    <header class="review-head">
      <h1>
        Review{" "}
        <span class="soft">{total === 0 ? "no chain" : `chain ${position} of ${total.toLocaleString("en")}`}</span>
      </h1>
      <p class="review-counts" role="status">
        {counts.open.toLocaleString("en")} open, {counts.keep} kept, {counts.drop} dropped, {counts.edit} edited
      </p>
      <label class="soft">
        show{" "}
        <select
          value={place.value.query.get("only") ?? "open"}
          onChange={(event) => setQuery({ only: event.currentTarget.value, at: undefined, in: undefined })}
        >
          {Object.entries(choices).map(([value, name]) => (
            <option value={value}>{name}</option>
          ))}
        </select>
      </label>
      {view.problems.length > 0 && (
        <p class="error">
          {view.problems.length} lines of the annotations can't be read: {view.problems[0]}
        </p>
      )}
    </header>
  );
}
