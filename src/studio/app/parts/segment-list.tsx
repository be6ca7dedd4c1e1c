/** The chain's segments in order, each with the agent that its words came from. The selected one is unfolded. */

import { count, duration } from "../../../report/format-figures.ts";
import type { ChainView, SegmentView } from "../../api/chain-view.ts";
import type { RunView } from "../../api/run-view.ts";
import { href, pathPart } from "../router.ts";
import { Chip } from "./chip.tsx";
import { decimal } from "./decimal.ts";
import { hueOf } from "./hues.ts";
import { LongText, OneLine } from "./long-text.tsx";
import { select, selection } from "./selection.ts";

export function SegmentList({ chain, run }: { chain: ChainView; run?: RunView }) {
  const { step, segment: chosen } = selection();
  const agents = new Map(run?.agents.map((agent) => [agent.id, agent]));
  const wrong = new Map(chain.violations.map((violation) => [violation.segment, violation.message]));
  return (
    <section class="column" aria-label="Segments of the chain">
      <h2>
        Chain{" "}
        <span class="soft">
          {chain.segments.length} segments, {chain.profile}
        </span>{" "}
        {chain.hasTokens && <a href={href(`/chains/${pathPart(chain.id)}/tokens`)}>tokens</a>}
      </h2>
      <ol class="rows">
        {chain.segments.map((segment) => {
          const isOpen = segment.index === chosen;
          const linked = step !== undefined && segment.from?.step === step;
          const agent = agents.get(segment.from?.agent ?? "");
          return (
            <li
              class={`row segment by-${segment.by} hue-${hueOf(segment.tag)}${isOpen ? " selected open" : ""}${linked ? " selected" : ""}`}
              data-segment={segment.index}
            >
              <button
                type="button"
                class="row-head"
                aria-expanded={isOpen}
                onClick={() => select(isOpen ? {} : { segment: segment.index })}
              >
                <span class="row-name">
                  <b>
                    <bdi>{segment.tag}</bdi>
                  </b>
                </span>
                <OneLine text={segment.text.text || "(empty)"} />
                <span class="row-tokens">
                  {agent ? (
                    <bdi>{agent.name}</bdi>
                  ) : (
                    (segment.from?.agent ?? (segment.tokens === undefined ? "" : `${count(segment.tokens)} tokens`))
                  )}
                  {segment.filled && (
                    <Chip
                      text="filled"
                      hue="amber"
                      title="Written by the distiller to satisfy the profile; never trained on"
                    />
                  )}
                </span>
              </button>
              {wrong.has(segment.index) && <p class="error">{wrong.get(segment.index)}</p>}
              {isOpen && <SegmentDetail chain={chain} segment={segment} />}
            </li>
          );
        })}
      </ol>
      {chain.leftOut.length > 0 && <LeftOut chain={chain} />}
    </section>
  );
}

function SegmentDetail({ chain, segment }: { chain: ChainView; segment: SegmentView }) {
  const { call, from } = segment;
  return (
    <div class="row-detail">
      <div class="chips">
        <Chip text={`written by the ${segment.by}`} />
        {from && <Chip text={`from ${from.agent}, ${from.step}`} />}
        {segment.tokens !== undefined && <Chip text={`${segment.tokens} tokens`} />}
        {segment.meanLogprob !== undefined && <Chip text={`mean log-prob ${decimal(segment.meanLogprob, 3)}`} />}
        {segment.start !== undefined && segment.end !== undefined && (
          <Chip text={duration(segment.end - segment.start)} />
        )}
        {call && (
          <Chip
            text={`${call.tool}${call.ok ? "" : " failed"}, ${duration(call.ms)}`}
            hue={call.ok ? undefined : "rose"}
          />
        )}
        {call?.repeated && <Chip text="a repeated call: the earlier result" hue="amber" />}
        {call?.cutCharacters !== undefined && (
          <Chip text={`${count(call.cutCharacters)} characters were cut out`} hue="amber" />
        )}
      </div>
      <LongText value={segment.text} place={{ kind: "chain", id: chain.id, path: `segments.${segment.index}.text` }} />
    </div>
  );
}

function LeftOut({ chain }: { chain: ChainView }) {
  const byReason = new Map<string, string[]>();
  for (const { step, reason } of chain.leftOut) byReason.set(reason, [...(byReason.get(reason) ?? []), step]);
  return (
    <section class="left-out-list">
      <h3>Left out of the chain</h3>
      <ul>
        {[...byReason].map(([reason, steps]) => (
          <li>
            <b>{steps.length}</b> {reason}:{" "}
            {steps.slice(0, 24).map((step) => (
              <button type="button" class="quiet" onClick={() => select({ step })}>
                {step}
              </button>
            ))}
            {steps.length > 24 && <span class="soft"> and {steps.length - 24} more</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
