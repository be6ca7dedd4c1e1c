/** The team's steps in order; a step that the chain does not show says why. The selected one is unfolded. */

import { count, duration } from "../../../report/format-figures.ts";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView, StepView } from "../../api/run-view.ts";
import { Chip } from "./chip.tsx";
import { hueOf } from "./hues.ts";
import { LongText, OneLine } from "./long-text.tsx";
import { select, selection } from "./selection.ts";

export function StepList({ run, chain }: { run: RunView; chain?: ChainView }) {
  const agents = new Map(run.agents.map((agent) => [agent.id, agent]));
  const reasons = new Map(chain?.leftOut.map(({ step, reason }) => [step, reason]));
  const { step: chosen, segment } = selection();
  const linked = chain?.segments[segment ?? -1]?.from?.step;
  return (
    <section class="column" aria-label="Steps of the team">
      <h2>
        Team <span class="soft">{run.steps.length} steps</span>
        {chain && <span class="soft">, {reasons.size} left out</span>}
      </h2>
      <ol class="rows">
        {run.steps.map((step, index) => {
          const agent = agents.get(step.agent);
          const isOpen = step.id === chosen;
          const reason = reasons.get(step.id);
          const marks = `${isOpen ? " selected open" : ""}${step.id === linked ? " selected" : ""}${reason === undefined ? "" : " left-out"}`;
          return (
            <li class={`row hue-${hueOf(agent?.role ?? step.agent)}${marks}`} data-step={step.id}>
              <button
                type="button"
                class="row-head"
                aria-expanded={isOpen}
                onClick={() => select(isOpen ? {} : { step: step.id })}
              >
                <span class="row-name">
                  <b>
                    <bdi>{agent?.name ?? step.agent}</bdi>
                  </b>
                  {step.move && <span class="soft"> {step.move}</span>}
                </span>
                <OneLine text={summaryOf(step)} />
                <span class="row-tokens" title="tokens read → written">
                  {count(step.tokens.prompt)} → {count(step.tokens.completion)}
                </span>
              </button>
              {reason !== undefined && <p class="reason">left out: {reason}</p>}
              {isOpen && <StepDetail run={run} step={step} index={index} />}
            </li>
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

function StepDetail({ run, step, index }: { run: RunView; step: StepView; index: number }) {
  const at = (path: string) => ({ kind: "run" as const, id: run.id, path: `steps.${index}.${path}` });
  const { prompt, reread, retold, completion } = step.tokens;
  return (
    <div class="row-detail">
      <div class="chips">
        {step.model && <Chip text={step.model} />}
        <Chip text={`saw ${step.messages} messages, ${step.seenMessages} of them seen before`} />
        <Chip text={`read ${count(prompt)}: ${count(reread)} again, ${count(retold)} told again`} />
        <Chip text={`wrote ${count(completion)}`} />
        {step.start !== undefined && step.end !== undefined && <Chip text={duration(step.end - step.start)} />}
        {step.finish && step.finish !== "stop" && <Chip text={`ended by ${step.finish}`} hue="amber" />}
      </div>
      {step.error && <p class="error">{step.error}</p>}
      {step.reasoning && (
        <>
          <h3>reasoning</h3>
          <LongText value={step.reasoning} place={at("reasoning")} />
        </>
      )}
      {step.text.length > 0 && (
        <>
          <h3>text</h3>
          <LongText value={step.text} place={at("text")} />
        </>
      )}
      {step.calls.map((call, number) => (
        <div class={`call hue-${hueOf(call.name)}`}>
          <h3>
            <Chip text={call.name} hue={hueOf(call.name)} />{" "}
            {call.delegatesTo && <span class="soft">activates {call.delegatesTo}</span>}
          </h3>
          <LongText value={call.arguments} place={at(`toolCalls.${number}.arguments`)} />
          {call.result && <LongText value={call.result} place={at(`toolCalls.${number}.result`)} />}
          {call.error && <LongText value={call.error} place={at(`toolCalls.${number}.error`)} />}
        </div>
      ))}
    </div>
  );
}
