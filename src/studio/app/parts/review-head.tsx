/** Where the queue of a review stands: how much is open, what is shown, and how to continue. */
import type { ReviewView } from "../../api/review-readers.ts";
import { href, path, place, setQuery } from "../router.ts";

const choices = {
  open: "still open",
  all: "all",
  keep: "kept",
  drop: "dropped",
  edit: "edited",
} as const;

export function ReviewHead({ view, what }: { view: ReviewView; what: string }) {
  const { query } = place.value;
  const { counts, position, total } = view;
  const kept = new URLSearchParams(query);
  for (const name of ["at", "in", "and", "seg", "edit", "only"]) kept.delete(name);
  const other = (under: string) => `${href(under)}${kept.size === 0 ? "" : `?${kept}`}`;
  return (
    <header class="review-head">
      <h1>
        Review{" "}
        <span class="soft">{total === 0 ? `no ${what}` : `${what} ${position} of ${total.toLocaleString("en")}`}</span>
      </h1>
      <nav aria-label="Ways to review">
        <a href={other("/review")} aria-current={path.value === "/review" ? "page" : undefined}>
          one by one
        </a>{" "}
        <a href={other("/review/pairs")} aria-current={path.value === "/review/pairs" ? "page" : undefined}>
          two of a task
        </a>
      </nav>
      <p class="review-counts" role="status">
        {counts.open.toLocaleString("en")} open, {counts.keep} kept, {counts.drop} dropped, {counts.edit} edited
      </p>
      <label class="soft">
        show{" "}
        <select
          value={query.get("only") ?? "open"}
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
