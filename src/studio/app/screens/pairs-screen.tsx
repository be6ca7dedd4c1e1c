/** Two chains of one task side by side: which is better? Who wrote them is shown after the decision. */
import { useEffect } from "preact/hooks";
import type { ReviewedChain, ReviewView } from "../../api/review-readers.ts";
import { useKeys } from "../keys.ts";
import { targetOf, useAnnotating } from "../parts/annotate.ts";
import { Chip } from "../parts/chip.tsx";
import { LongText } from "../parts/long-text.tsx";
import { useQueue } from "../parts/queue.ts";
import { ReviewHead } from "../parts/review-head.tsx";
import { ReviewSegments } from "../parts/review-segments.tsx";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { place, setQuery } from "../router.ts";

export function PairsScreen(_: { params: Record<string, string> }) {
  const { query } = place.value;
  const asked = new URLSearchParams(query);
  for (const name of ["row", "sort", "in"]) asked.delete(name);
  const annotating = useAnnotating();
  const { data, error } = useQueue(`pairs?${asked}`, annotating.version);
  const [first, second] = data?.shown ?? [];
  const move = (to: ReviewView["after"]) => to && setQuery(to, { push: true });
  useEffect(() => {
    if (first && second && !query.has("at")) setQuery({ at: first.key, and: second.key });
  }, [first]);
  const prefer = async (winner: ReviewedChain | undefined, loser: ReviewedChain | undefined) => {
    if (!winner || !loser) return;
    if (await annotating.decide(winner, { verdict: "prefer", over: targetOf(loser) })) move(data?.after);
  };
  const undo = async () => {
    if (!first || !second) return;
    for (const shown of [first, second]) if (shown.verdict) await annotating.decide(shown, { verdict: "undo" });
  };
  const actions = [
    { keys: "a", name: "A is better", does: "Prefer the left chain", run: () => void prefer(first, second) },
    { keys: "b", name: "B is better", does: "Prefer the right chain", run: () => void prefer(second, first) },
    { keys: "u", name: "Undo", does: "Take back what was decided", run: () => void undo() },
    { keys: "n", name: "Next", does: "Next pair", run: () => move(data?.after) },
    { keys: "p", name: "Previous", does: "Previous pair", run: () => move(data?.before) },
  ];
  useKeys(actions, [data]);
  if (error && !data) return <Problem page title="The pairs can't be shown" detail={error} />;
  if (!data) return <Loading what="the pairs" />;
  const question = first?.chain?.prompt.findLast(({ role }) => role === "user")?.text;
  return (
    <article class="review-screen">
      <ReviewHead view={data} what="pair" />
      {!first || !second ? (
        <Nothing title={data.total === 0 ? "No task has two chains here" : "Nothing is left to decide here"}>
          <p>
            Of two chains the one that is not preferred is left out by{" "}
            <code>coa dataset build … --annotations .coa/annotations.jsonl</code>
          </p>
        </Nothing>
      ) : (
        <>
          <div class="review-actions" role="toolbar" aria-label="Decide">
            {actions.map(({ name, keys, run }) => (
              <button type="button" onClick={run}>
                {name} <kbd>{keys}</kbd>
              </button>
            ))}
          </div>
          {annotating.refusal && <p class="error">{annotating.refusal.message}</p>}
          <h2>{question ? <LongText value={question} plain /> : "A task without a question"}</h2>
          <div class="review-pair">
            <Side name="A" shown={first} decided={first.verdict !== undefined && second.verdict !== undefined} />
            <Side name="B" shown={second} decided={first.verdict !== undefined && second.verdict !== undefined} />
          </div>
        </>
      )}
    </article>
  );
}

function Side({ name, shown, decided }: { name: string; shown: ReviewedChain; decided: boolean }) {
  const { chain, verdict, problem } = shown;
  return (
    <section aria-label={`Chain ${name}`}>
      <h3>
        {name}{" "}
        {verdict && (
          <Chip
            text={{ keep: "kept", drop: verdict.because ?? "dropped", edit: "edited" }[verdict.verdict]}
            hue={{ keep: "green", drop: "rose", edit: "amber" }[verdict.verdict]}
          />
        )}
        {decided && chain && <Chip text={`${chain.model}, ${shown.file}`} />}
      </h3>
      {chain ? (
        <ReviewSegments chain={chain} edits={verdict?.edits} at={-1} />
      ) : (
        <Problem title="This chain can't be shown" detail={problem} />
      )}
    </section>
  );
}
