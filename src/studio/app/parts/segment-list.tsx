/** The chain's segments in order, each with the agent that its words came from. The selected one is unfolded. */
import { count, decimal, duration } from "../../../report/format-figures.ts";
import type { ChainView, SegmentView } from "../../api/chain-view.ts";
import type { RunView } from "../../api/run-view.ts";
import { href, pathPart } from "../router.ts";
import { Chip } from "./chip.tsx";
import { hueOf } from "./hues.ts";
import { LongText } from "./long-text.tsx";
import { selection } from "./selection.ts";
import { Row } from "./step-list.tsx";

export function SegmentList({ chain, run, file }: { chain: ChainView; run?: RunView; file?: string }) {
  const { step, segment: chosen } = selection();
  const agents = new Map(run?.agents.map((agent) => [agent.id, agent.name]));
  const leftOut = Map.groupBy(chain.leftOut, ({ reason }) => reason);
  const wrong = new Map(chain.violations.map((violation) => [violation.segment, violation.message]));
  return (
    <section class="column" aria-label="Segments of the chain">
      <h2>
        Chain{" "}
        <span class="soft">
          {chain.segments.length} segments, {chain.profile}
        </span>{" "}
        {chain.hasTokens && <a href={href(`/chains/${pathPart(chain.id)}/tokens`, { in: file })}>tokens</a>}
      </h2>
      <ol class="rows plain">
        {chain.segments.map((segment) => {
          const { index, tag, by, from, tokens } = segment;
          const linked = step !== undefined && from?.step === step;
          const agent = from && (agents.get(from.agent) ?? from.agent);
          return (
            <Row
              of={{ segment: index }}
              class={`segment by-${by} hue-${hueOf(tag)}${linked ? " selected" : ""}`}
              name={<b dir="auto">{tag}</b>}
              text={segment.text.text || "(empty)"}
              figure={
                <>
                  <bdi>{agent ?? (tokens === undefined ? "" : `${count(tokens)} tokens`)}</bdi>
                  {segment.filled && <Chip text="filled" hue="amber" title={filledMeans} />}
                </>
              }
              isOpen={index === chosen}
              note={wrong.has(index) && <p class="error">{wrong.get(index)}</p>}
              detail={() => <SegmentDetail chain={chain} segment={segment} />}
            />
          );
        })}
      </ol>
      {leftOut.size > 0 && (
        <p class="chips soft">
          steps that it leaves out:
          {[...leftOut].map(([reason, steps]) => (
            <Chip text={`${steps.length} ${reason}`} title={steps.map(({ step }) => step).join(", ")} />
          ))}
        </p>
      )}
    </section>
  );
}

const filledMeans = "Written by the distiller to satisfy the profile; never trained on";

function SegmentDetail({ chain, segment }: { chain: ChainView; segment: SegmentView }) {
  const { by, call, from, tokens, meanLogprob, start, end } = segment;
  return (
    <>
      <div class="chips">
        <Chip text={`written by the ${by}`} />
        {from && <Chip text={`from ${from.agent}, ${from.step}`} />}
        {tokens !== undefined && <Chip text={`${tokens} tokens`} />}
        {meanLogprob !== undefined && <Chip text={`mean log-prob ${decimal(meanLogprob, 3)}`} />}
        {start !== undefined && end !== undefined && <Chip text={duration(end - start)} />}
        {call && <CallChip call={call} />}
        {call?.repeated && <Chip text="a repeated call: the earlier result" hue="amber" />}
        {call?.cutCharacters !== undefined && (
          <Chip text={`${count(call.cutCharacters)} characters were cut out`} hue="amber" />
        )}
      </div>
      <LongText value={segment.text} place={{ kind: "chain", id: chain.id, path: `segments.${segment.index}.text` }} />
    </>
  );
}

/** How a call of a tool went. */
export function CallChip({ call }: { call: NonNullable<SegmentView["call"]> }) {
  const { tool, ok, ms } = call;
  return <Chip text={`${tool}${ok ? "" : " failed"}, ${duration(ms)}`} hue={ok ? undefined : "rose"} />;
}
