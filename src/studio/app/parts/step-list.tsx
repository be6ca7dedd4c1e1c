/** The team's steps in order; a step that the chain does not show says why. The selected one is unfolded. */

import type { ComponentChildren } from "preact";
import { count, duration } from "../../../report/format-figures.ts";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView, StepView } from "../../api/run-view.ts";
import { Chip } from "./chip.tsx";
import { hueOf } from "./hues.ts";
import { LongText, OneLine } from "./long-text.tsx";
import { type Selection, select, selectedStep, selection } from "./selection.ts";

export function StepList({ run, chain }: { run: RunView; chain?: ChainView }) {
  const agents = new Map(run.agents.map((agent) => [agent.id, agent]));
  const reasons = new Map(chain?.leftOut.map(({ step, reason }) => [step, reason]));
  const { step: chosen } = selection();
  const linked = selectedStep(chain);
  return (
    <section class="column" aria-label="Steps of the team">
      <h2>
        Team <span class="soft">{run.steps.length} steps</span>
        {chain && <span class="soft">, {reasons.size} left out</span>}
      </h2>
      <ol class="rows plain">
        {run.steps.map((step, index) => {
          const agent = agents.get(step.agent);
          const reason = reasons.get(step.id);
          const marks = `${step.id === linked ? " selected" : ""}${reason === undefined ? "" : " left-out"}`;
          return (
            <Row
              of={{ step: step.id }}
              class={`hue-${hueOf(agent?.role ?? step.agent)}${marks}`}
              name={
                <>
                  <b dir="auto">{agent?.name ?? step.agent}</b>
                  {step.move && <span class="soft"> {step.move}</span>}
                </>
              }
              text={summaryOf(step)}
              figure={
                <span title="tokens read → written">
                  {count(step.tokens.prompt)} → {count(step.tokens.completion)}
                </span>
              }
              isOpen={step.id === chosen}
              note={reason !== undefined && <p class="reason soft tiny">left out: {reason}</p>}
              detail={() => <StepDetail run={run} step={step} index={index} />}
            />
          );
        })}
      </ol>
    </section>
  );
}

function summaryOf(step: StepView): string {
  const calls = step.calls.map((call) => `${call.name} ${call.arguments.text}`).join("  ");
  return step.error ?? ([step.reasoning?.text, step.text.text, calls].filter(Boolean).join(" · ") || "(nothing)");
}

/** What the call was given: what no step had seen before is open, the rest is folded. */
function Given({ run, step }: { run: RunView; step: StepView }) {
  const seen = step.given.filter((one) => one.seen);
  const message = ({ at }: StepView["given"][number]) => (
    <div class="given">
      <b class="soft tiny">{run.messages[at]!.role}</b>
      <LongText value={run.messages[at]!.text} />
    </div>
  );
  if (step.given.length === 0) return null;
  return (
    <section aria-label="What the call was given">
      <h3>
        given <span class="soft">{step.given.length} messages</span>
        {step.tools.length > 0 && <span class="soft">; tools: {step.tools.join(", ")}</span>}
        {step.settings.length > 0 && <span class="soft">; {step.settings.join(", ")}</span>}
      </h3>
      {seen.length > 0 && (
        <details>
          <summary class="soft">{seen.length} that some step had seen before</summary>
          {seen.map(message)}
        </details>
      )}
      {step.given.filter((one) => !one.seen).map(message)}
    </section>
  );
}

function StepDetail({ run, step, index }: { run: RunView; step: StepView; index: number }) {
  const at = (path: string) => ({ kind: "run" as const, id: run.id, path: `steps.${index}.${path}` });
  const { prompt, reread, retold, completion } = step.tokens;
  return (
    <>
      <div class="chips">
        {step.model && <Chip text={step.model} />}
        {step.tokens.unknown > 0 ? (
          <Chip text={`read ${count(prompt)}; its prompt was not recorded`} hue="amber" />
        ) : (
          <Chip text={`read ${count(prompt)}: ${count(reread)} again, ${count(retold)} told again`} />
        )}
        <Chip text={`wrote ${count(completion)}`} />
        {step.start !== undefined && step.end !== undefined && <Chip text={duration(step.end - step.start)} />}
        {step.finish && step.finish !== "stop" && <Chip text={`ended by ${step.finish}`} hue="amber" />}
      </div>
      {step.error && <p class="error">{step.error}</p>}
      <Given run={run} step={step} />
      {step.reasoning && <h3>reasoning</h3>}
      {step.reasoning && <LongText value={step.reasoning} place={at("reasoning")} />}
      {step.text.length > 0 && <h3>text</h3>}
      {step.text.length > 0 && <LongText value={step.text} place={at("text")} />}
      {step.calls.map((call, number) => (
        <>
          <h3>
            <Chip text={call.name} hue={hueOf(call.name)} />{" "}
            {call.delegatesTo && <span class="soft">activates {call.delegatesTo}</span>}
          </h3>
          {(["arguments", "result", "error"] as const).map(
            (part) => call[part] && <LongText value={call[part]} place={at(`toolCalls.${number}.${part}`)} />,
          )}
        </>
      ))}
    </>
  );
}

interface Props {
  /** What it selects; it is the row of this step or segment. */
  of: Selection;
  class: string;
  name: ComponentChildren;
  text: string;
  figure: ComponentChildren;
  isOpen: boolean;
  /** What stands below the line, open or not. */
  note?: ComponentChildren;
  detail: () => ComponentChildren;
}

/** Rows that unfold: a name, one line of text, a figure; below it the details of the one that is selected. */
export function Row({ of, class: marks, name, text, figure, isOpen, note, detail }: Props) {
  return (
    <li class={`row ${marks}${isOpen ? " selected open" : ""}`} data-step={of.step} data-segment={of.segment}>
      <button type="button" class="row-head cells bare" aria-expanded={isOpen} onClick={() => select(isOpen ? {} : of)}>
        <span class="row-name one-line small">{name}</span>
        <OneLine text={text} />
        <span class="soft one-line tiny">{figure}</span>
      </button>
      {note}
      {isOpen && <div class="row-detail">{detail()}</div>}
    </li>
  );
}
