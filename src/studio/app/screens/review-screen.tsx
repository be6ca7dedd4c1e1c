/**
 * One chain after the other: keep it, drop it, or put better words into it. Each decision is one line in the workspace's
 * file of annotations, which `coa dataset build --annotations` applies. What the grader said is shown after the decision.
 */
import { useEffect } from "preact/hooks";
import type { SegmentEdit } from "../../../core/annotation.ts";
import type { ReviewedChain, ReviewView } from "../../api/review-reader.ts";
import { useKeys } from "../keys.ts";
import { useAnnotating } from "../parts/annotate.ts";
import { Chip } from "../parts/chip.tsx";
import { LongText } from "../parts/long-text.tsx";
import { useQueue } from "../parts/queue.ts";
import { ReviewHead } from "../parts/review-head.tsx";
import { ReviewSegments } from "../parts/review-segments.tsx";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { place, setQuery } from "../router.ts";

export function ReviewScreen(_: { params: Record<string, string> }) {
  const { query } = place.value;
  const asked = new URLSearchParams(query);
  for (const name of ["seg", "edit", "row", "sort"]) asked.delete(name);
  const annotating = useAnnotating();
  const { data, error } = useQueue(`review?${asked}`, annotating.version);
  const shown = data?.shown;
  const { chain, verdict } = shown ?? {};
  const edits = verdict?.edits ?? [];
  /** As the address has it now: two quick keys are two steps. */
  const selected = () => Number(place.value.query.get("seg") ?? -1);
  const at = selected();
  const editing = query.get("edit") === "1";
  const move = (to: ReviewView["after"]) => {
    annotating.clear();
    if (to) setQuery({ ...to, seg: undefined, edit: undefined }, { push: true });
  };
  // The entry that is shown stands in the address, so that it stays in sight once it is decided.
  useEffect(() => {
    if (shown && !query.has("at")) setQuery({ at: shown.key, in: shown.file });
  }, [shown]);
  const decide = async (word: "keep" | "drop" | "undo") => {
    if (!shown || !data) return;
    // Keeping a chain that was edited keeps it with its edits.
    const written = (word === "keep" && edits.length > 0) || (await annotating.decide(shown, { verdict: word }));
    if (written && word !== "undo") move(data.after);
  };
  const select = (segment: number) => {
    annotating.clear();
    setQuery({ seg: Math.max(0, Math.min((chain?.segments.length ?? 1) - 1, segment)), edit: undefined });
  };
  const edit = () => {
    const from = Math.max(0, selected());
    const own = chain?.segments.findIndex(({ by, index }) => by === "model" && index >= from) ?? -1;
    if (own >= 0) setQuery({ seg: own, edit: 1 });
  };
  const save = async (text: string) => {
    if (!shown || !chain) return;
    const others = edits.filter(({ segment }) => segment !== at);
    const same = chain.segments[at]?.text.text === text;
    const next: SegmentEdit[] = same ? others : [...others, { segment: at, text }];
    const decision = next.length === 0 ? { verdict: "undo" as const } : { verdict: "edit" as const, edits: next };
    if (await annotating.decide(shown, decision)) setQuery({ edit: undefined });
  };
  const cancel = () => {
    annotating.clear();
    setQuery({ edit: undefined });
  };
  const actions = [
    { keys: "k", name: "Keep", does: "Keep the chain (with its edits)", run: () => void decide("keep") },
    { keys: "d", name: "Drop", does: "Drop the chain", run: () => void decide("drop") },
    { keys: "e", name: "Edit", does: "Edit the selected segment, or the next that the model wrote", run: edit },
    { keys: "u", name: "Undo", does: "Take back what was decided", run: () => void decide("undo") },
    { keys: "n", name: "Next", does: "Next chain", run: () => move(data?.after) },
    { keys: "p", name: "Previous", does: "Previous chain", run: () => move(data?.before) },
  ];
  useKeys(
    [
      ...actions,
      { keys: "l", does: "Next segment", run: () => select(selected() + 1) },
      { keys: "h", does: "Previous segment", run: () => select(selected() - 1) },
      { keys: "escape", does: "Leave the field", run: cancel },
    ],
    [data, at, editing],
  );
  useEffect(() => {
    document.querySelector(".review-segment.selected")?.scrollIntoView({ block: "nearest" });
  }, [at, data]);
  if (error && !data) return <Problem page title="The queue can't be shown" detail={error} />;
  if (!data) return <Loading what="the queue" />;
  return (
    <article class="review-screen">
      <ReviewHead view={data} />
      {!shown ? (
        <Nothing title={data.total === 0 ? "No chain is in this queue" : "Nothing is left to decide here"}>
          <p>
            Apply what was decided: <code>coa dataset build … --annotations .coa/annotations.jsonl</code>
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
          {annotating.refusal && !editing && <p class="error">{annotating.refusal.message}</p>}
          <Shown shown={shown} />
          {chain && (
            <ReviewSegments
              chain={chain}
              edits={edits}
              at={at}
              onSelect={select}
              editor={
                editing
                  ? {
                      file: shown.file,
                      refusal: annotating.refusal,
                      onSave: (text) => void save(text),
                      onCancel: cancel,
                    }
                  : undefined
              }
            />
          )}
        </>
      )}
    </article>
  );
}

/** What the chain was asked, what it said, and what was decided. */
function Shown({ shown }: { shown: ReviewedChain }) {
  const { chain, verdict, problem, changed } = shown;
  if (!chain) return <Problem title="This chain can't be shown" detail={problem} />;
  const question = chain.prompt.findLast(({ role }) => role === "user")?.text;
  const { reward } = chain;
  return (
    <section class="review-chain">
      <h2>{question ? <LongText value={question} plain /> : "A chain without a question"}</h2>
      <p class="answer">
        <span class="soft">answer</span>{" "}
        {chain.answer ? (
          <b>
            <LongText value={chain.answer} plain />
          </b>
        ) : (
          <em>none ({chain.ending.reason})</em>
        )}
      </p>
      <div class="chips">
        {verdict ? (
          <Chip
            text={{ keep: "kept", drop: "dropped", edit: "edited" }[verdict.verdict]}
            hue={{ keep: "green", drop: "rose", edit: "amber" }[verdict.verdict]}
          />
        ) : (
          <Chip text="not decided" />
        )}
        {changed && <Chip text="decided before, when it had other words" hue="amber" />}
        {verdict && reward !== undefined && (
          <Chip text={`the grader gave ${Number(reward.toFixed(3))}`} hue={reward >= 1 ? "green" : "rose"} />
        )}
        <Chip text={`${shown.file}, ${shown.key}`} />
      </div>
    </section>
  );
}
