/**
 * One chain after the other: keep it, drop it, or put better words into it. Each decision is one line in the workspace's
 * file of annotations, which `coa dataset build --annotations` applies. What the grader said is shown after the decision.
 */
import { useEffect, useState } from "preact/hooks";
import type { Annotation, SegmentEdit } from "../../../core/annotation.ts";
import type { Violation } from "../../../core/trajectory.ts";
import type { ChainView } from "../../api/chain-view.ts";
import type { ReviewedChain, ReviewView } from "../../api/review-reader.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Button } from "../parts/button.tsx";
import { Chip } from "../parts/chip.tsx";
import { QueryChoice } from "../parts/choice.tsx";
import { Asked, LongText, wholeText } from "../parts/long-text.tsx";
import { SegmentRows } from "../parts/segment-list.tsx";
import { cursor } from "../parts/selection.ts";
import { Missing, Nothing, Problem } from "../parts/states.tsx";
import { place, setQuery } from "../router.ts";
import { post, useResource } from "../server.ts";

const choices = [
  ["open", "still open"],
  ["all", "all"],
  ["keep", "kept"],
  ["drop", "dropped"],
  ["edit", "edited"],
  ["said", "those that users spoke about"],
] as const;

const resultStays = "What the tool returned stays: it is the result of the call as it was.";

export function ReviewScreen(_: { params: Record<string, string> }) {
  const { query } = place.value;
  const asked = new URLSearchParams(query);
  for (const name of ["seg", "edit", "row", "sort"]) asked.delete(name);
  const annotating = useAnnotating();
  const queue = useResource<ReviewView>(`review?${asked}`, {
    live: ({ type }) => type === "file" || type === "idle" || type === "gone",
    version: annotating.version,
    // A field that is open keeps what was typed.
    keeps: true,
  });
  const { data } = queue;
  const shown = data?.shown;
  const { chain, verdict } = shown ?? {};
  const edits = verdict?.edits ?? [];
  const segments = chain?.segments ?? [];
  const { at, move: moveSegment } = cursor("seg", segments.length, { edit: undefined });
  const editing = query.get("edit") === "1";
  const goTo = (to: ReviewView["after"]) => {
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
    if (written && word !== "undo") goTo(data.after);
  };
  const edit = () => {
    const from = Math.max(0, Number(place.value.query.get("seg") ?? 0));
    const own = segments.findIndex(({ by, index }) => by === "model" && index >= from);
    if (own >= 0) setQuery({ seg: own, edit: 1 });
  };
  const save = async (text: string) => {
    if (!shown) return;
    const others = edits.filter(({ segment }) => segment !== at);
    const same = segments[at]?.text.text === text;
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
    { keys: "n", name: "Next", does: "Next chain", run: () => goTo(data?.after) },
    { keys: "p", name: "Previous", does: "Previous chain", run: () => goTo(data?.before) },
  ];
  const steps = stepKeys("l", "h", "segment", (by) => {
    annotating.clear();
    moveSegment(by);
  });
  useKeys([...actions, ...steps, { keys: "escape", does: "Leave the field", run: cancel }]);
  useEffect(() => {
    document.querySelector(".review-segment.selected")?.scrollIntoView({ block: "nearest" });
  }, [at, data]);
  if (!data) return <Missing page of={queue} what="the queue" />;
  const wordsOf = (index: number) => edits.find(({ segment }) => segment === index)?.text;
  return (
    <article class="review-screen">
      <Head view={data} />
      {!shown ? (
        <Nothing
          title={data.total === 0 ? "No chain is in this queue" : "Nothing is left to decide here"}
          command="coa dataset build … --annotations .coa/annotations.jsonl"
        >
          applies what was decided.
        </Nothing>
      ) : (
        <>
          <div class="review-actions" role="toolbar" aria-label="Decide">
            {actions.map(({ name, keys, run }) => (
              <Button text={name} keys={keys} onClick={run} />
            ))}
          </div>
          {annotating.refusal && !editing && <p class="error">{annotating.refusal.message}</p>}
          <Shown shown={shown} />
          {chain && (
            <SegmentRows
              segments={segments}
              at={at}
              onSelect={(seg) => setQuery({ seg, edit: undefined })}
              editor={
                editing && segments[at]
                  ? {
                      load: async () => wordsOf(at) ?? wholeText(segments[at]!.text, placeOf(chain, at, shown.file)),
                      note: segments[at + 1]?.by === "tool" ? resultStays : undefined,
                      refusal: annotating.refusal,
                      onSave: (text) => void save(text),
                      onCancel: cancel,
                    }
                  : undefined
              }
              mark={(_segment, index) => wordsOf(index) !== undefined && <Chip text="edited" hue="amber" />}
              text={({ text }, index) => {
                const edited = wordsOf(index);
                if (edited === undefined) return <LongText value={text} place={placeOf(chain, index)} />;
                return (
                  <>
                    <del>
                      <LongText value={text} />
                    </del>
                    <ins>
                      <LongText value={{ text: edited, length: edited.length }} />
                    </ins>
                  </>
                );
              }}
            />
          )}
        </>
      )}
    </article>
  );
}

function placeOf({ id }: ChainView, index: number, file?: string) {
  return { kind: "chain" as const, id, path: `segments.${index}.text`, ...(file !== undefined && { in: file }) };
}

/** Where the queue stands: how much is open, what is shown, and how to continue. */
function Head({ view: { counts, position, total, problems } }: { view: ReviewView }) {
  return (
    <header class="review-head flex">
      <h1>
        Review{" "}
        <span class="soft">{total === 0 ? "no chain" : `chain ${position} of ${total.toLocaleString("en")}`}</span>
      </h1>
      <p class="review-counts" role="status">
        {counts.open.toLocaleString("en")} open, {counts.keep} kept, {counts.drop} dropped, {counts.edit} edited
        {counts.said > 0 && `; users spoke about ${counts.said}`}
      </p>
      <QueryChoice name="only" label="show" options={choices} />
      {problems.length > 0 && (
        <p class="error">
          {problems.length} lines of the annotations can't be read: {problems[0]}
        </p>
      )}
    </header>
  );
}

const verdicts = { keep: ["kept", "green"], drop: ["dropped", "rose"], edit: ["edited", "amber"] } as const;

/** What the chain was asked, what it said, and what was decided. */
function Shown({ shown }: { shown: ReviewedChain }) {
  const { chain, verdict, problem, changed } = shown;
  if (!chain) return <Problem title="This chain can't be shown" detail={problem} />;
  const question = chain.prompt.findLast(({ role }) => role === "user")?.text;
  const { reward } = chain;
  const [word, hue] = verdict ? verdicts[verdict.verdict] : ["not decided"];
  return (
    <section class="review-chain">
      <Asked title="h2" question={question} answer={chain.answer} none={`none (${chain.ending.reason})`} />
      <div class="chips">
        <Chip text={word} hue={hue} />
        {changed && <Chip text="decided before, when it had other words" hue="amber" />}
        {verdict && reward !== undefined && (
          <Chip text={`the grader gave ${Number(reward.toFixed(3))}`} hue={reward >= 1 ? "green" : "rose"} />
        )}
        <Chip text={`${shown.file}, ${shown.key}`} />
      </div>
      {shown.said.length > 0 && (
        <section aria-label="What users said">
          <h3>what users of the served model said</h3>
          {shown.said.map(({ score, label, correction, comment }) => (
            <div class="chips">
              {score !== undefined && <Chip text={`score ${score}`} hue={score >= 0.5 ? "green" : "rose"} />}
              {label !== undefined && <Chip text={label} />}
              {correction !== undefined && <b dir="auto">right would be: {correction.slice(0, 2_000)}</b>}
              {comment !== undefined && <span dir="auto">{comment}</span>}
            </div>
          ))}
        </section>
      )}
    </section>
  );
}

type Decision = { verdict: "keep" | "drop" | "undo" } | { verdict: "edit"; edits: readonly SegmentEdit[] };

/** Writes decisions, counts those that are written, and keeps why the last one was refused. */
function useAnnotating() {
  const [version, setVersion] = useState(0);
  const [refusal, setRefusal] = useState<{ message: string; problems: readonly Violation[] }>();
  /** Resolves to whether it is written and its screen is still shown. */
  const decide = async ({ key, hash, file }: ReviewedChain, decision: Decision): Promise<boolean> => {
    const { path } = place.value;
    try {
      const target: Annotation["target"] = { kind: "chain", id: key, hash };
      await post("annotate", { ...decision, target, in: file });
      setRefusal(undefined);
      setVersion((old) => old + 1);
      return place.value.path === path;
    } catch (error) {
      const { message, cause = [] } = error as Error & { cause?: readonly Violation[] };
      setRefusal({ message, problems: cause });
      return false;
    }
  };
  return { version, refusal, clear: () => setRefusal(undefined), decide };
}
