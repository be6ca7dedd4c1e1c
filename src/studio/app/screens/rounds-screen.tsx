/** Rounds of `coa improve`: a list of them, and a page for each with its curve of success against cost. */
import { count, decimal, percent } from "../../../report/format-figures.ts";
import type { RoundView } from "../../api/rounds-reader.ts";
import { Missing, Nothing } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { href } from "../router.ts";
import { useResource } from "../server.ts";

export function RoundsScreen({ params }: { params: Record<string, string> }) {
  const shown = useResource<RoundView[]>("rounds", { live: ({ type }) => type === "idle" });
  if (!shown.data) return <Missing page of={shown} what="the rounds" />;
  const asked = params["round"];
  const round = shown.data.find(({ facts }) => String(facts.number) === asked);
  if (shown.data.length === 0 || (asked !== undefined && !round)) {
    return (
      <Nothing page title={asked === undefined ? "No rounds yet" : `There is no round ${asked}`} command="coa improve">
        learns from what the old system had to answer; each round is shown here.
      </Nothing>
    );
  }
  return round ? <Round round={round} /> : <Rounds rounds={shown.data} />;
}

const tokens = (value: number | null) => (value === null ? "–" : count(Math.round(value)));

function Rounds({ rounds }: { rounds: readonly RoundView[] }) {
  return (
    <article>
      <h1>Rounds of improvement</h1>
      <Table
        head={["round", "decision", "exam, live -> candidate", "to the old system", "tokens a question"]}
        rows={rounds.map(({ facts, promote, exam, escalated, tokens: of }) => [
          <a href={href(`/rounds/${facts.number}`)}>{facts.number}</a>,
          promote ? "promoted" : "not promoted",
          `${percent(exam.live)} -> ${percent(exam.candidate)}`,
          `${percent(escalated.live)} -> ${percent(escalated.candidate)}`,
          `${tokens(of.live)} -> ${tokens(of.candidate)}`,
        ])}
      />
    </article>
  );
}

function Round({ round }: { round: RoundView }) {
  const { facts, promote, reasons, exam, tokens: of, figures, sentence } = round;
  const points = (value: number) => decimal(value * 100, 1);
  const saved = of.candidate === null ? 0 : (of.live ?? of.old ?? 0) - of.candidate;
  return (
    <article>
      <h1>
        Round {facts.number}: {promote ? "promoted" : "not promoted"}
      </h1>
      {reasons.map((reason) => (
        <p>{reason}</p>
      ))}
      {sentence && <p>{sentence}</p>}
      <section class="panel" aria-label="What came in">
        <h2>What came in</h2>
        <Table
          head={["what", "requests"]}
          rows={Object.entries(facts.counts).map(([name, value]) => [name, count(value)])}
        />
        <p>
          {facts.learned} runs of the old system became demonstrations, beside {facts.guarded} chains of the live model
          that it agreed with. Right answers: {facts.basis}.
        </p>
      </section>
      <section class="panel" aria-label="What changed">
        <h2>What changed</h2>
        <Table
          head={["figure", "live", "candidate", "old system"]}
          rows={[
            [`exam, ${exam.tasks} tasks`, percent(exam.live), percent(exam.candidate), "–"],
            ["tokens a question under the promise", tokens(of.live), tokens(of.candidate), tokens(of.old)],
          ]}
        />
        <p>
          Loss on the exam {points(exam.loss.value)} points [{points(exam.loss.low)}, {points(exam.loss.high)}]; an
          equally good model passes in {percent(exam.power, 0)} of such exams. The round took{" "}
          {Math.round(facts.seconds / 60)} minutes; its audits cost the old system{" "}
          {count(Math.round(facts.auditTokens))} tokens
          {saved > 0 && `, paid back after ${count(Math.ceil(facts.auditTokens / saved))} questions`}.
        </p>
      </section>
      {figures && <CostCurve figures={figures} />}
    </article>
  );
}

/** Success against tokens for every threshold; the chosen one is marked. */
function CostCurve({ figures: { curve, all } }: { figures: NonNullable<RoundView["figures"]> }) {
  const [width, height] = [640, 240];
  const [most, least] = [
    Math.max(...curve.map((one) => one.billedTokens)),
    Math.min(...curve.map((one) => one.success)),
  ];
  const x = (value: number) => ((value / Math.max(1, most)) * width).toFixed(1);
  const y = (value: number) => (height - ((value - least) / Math.max(1e-9, 1 - least)) * height).toFixed(1);
  const chosen = curve.find(({ escalated }) => escalated === all.escalated);
  return (
    <figure class="panel">
      <figcaption>
        Success from {percent(least)} to 100 % against up to {count(Math.round(most))} tokens a question
        {chosen && `; chosen: ${percent(chosen.success)} at ${count(Math.round(chosen.billedTokens))}`}
      </figcaption>
      <svg class="plot" viewBox={`-8 -8 ${width + 16} ${height + 16}`} role="img" aria-label="success against tokens">
        <polyline points={curve.map((one) => `${x(one.billedTokens)},${y(one.success)}`).join(" ")} />
        {chosen && <circle cx={x(chosen.billedTokens)} cy={y(chosen.success)} r={6} fill="currentColor" />}
      </svg>
    </figure>
  );
}
