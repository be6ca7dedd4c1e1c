/** What the team spent beside what the chain needs for the same, with the tokens that were read again drawn as bars. */

import { count, duration, percent } from "../../../report/format-figures.ts";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView } from "../../api/run-view.ts";
import { Facts } from "./facts.tsx";

export function RunFigures({ run, chain }: { run?: RunView; chain?: ChainView }) {
  const most = Math.max(run?.usage.billedTokens ?? 0, chain?.usage.billedTokens ?? 0, 1);
  return (
    <section class="panel" aria-label="Cost">
      {run && (
        <UsageBar
          name="team"
          total={run.usage.billedTokens}
          most={most}
          parts={teamParts(run)}
          facts={[
            factOf(run.agents.length, "agent"),
            factOf(run.usage.modelCalls, "model call"),
            factOf(run.usage.toolCalls, "tool call"),
            [count(run.usage.billedTokens), "tokens billed"],
            [count(run.usage.computedTokens), "computed"],
            [duration(run.usage.wallMs), "time"],
          ]}
        />
      )}
      {chain && (
        <UsageBar
          name="chain"
          total={chain.usage.billedTokens}
          most={most}
          parts={chainParts(chain)}
          facts={[
            ["1", "model"],
            factOf(chain.usage.modelCalls, "model call"),
            factOf(chain.usage.toolCalls, "tool call"),
            [count(chain.usage.billedTokens), "tokens billed"],
            [count(chain.usage.computedTokens), "computed"],
            ...(run && chain.usage.billedTokens > 0
              ? [[`${(run.usage.billedTokens / chain.usage.billedTokens).toFixed(1)}×`, "fewer billed"] as const]
              : []),
          ]}
        />
      )}
      <p class="legend flex soft">
        {Object.entries(legend).map(([kind, { hue, means }]) => (
          <span>
            <i class={`part ${kind} hue-${hue}`} /> {means}
          </span>
        ))}
      </p>
    </section>
  );
}

const legend = {
  reread: { hue: "amber", means: "read again" },
  retold: { hue: "rose", means: "told again" },
  fresh: { hue: "blue", means: "new in the prompt" },
  written: { hue: "green", means: "written" },
};

/** A number with its word, in the singular where it is one. */
function factOf(number: number, word: string): readonly [string, string] {
  return [count(number), number === 1 ? word : `${word}s`];
}

type Parts = readonly (readonly [kind: keyof typeof legend, label: string, tokens: number])[];

function teamParts(run: RunView): Parts {
  const sum = { prompt: 0, reread: 0, retold: 0, completion: 0 };
  for (const { tokens } of run.steps) {
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += tokens[name];
  }
  return [
    ["reread", "tokens read again", sum.reread],
    ["retold", "tokens told again", sum.retold],
    ["fresh", "new tokens in prompts", sum.prompt - sum.reread - sum.retold],
    ["written", "tokens written", sum.completion],
  ];
}

function chainParts({ usage }: ChainView): Parts {
  const reread = Math.max(0, usage.billedTokens - usage.computedTokens);
  return [
    ["reread", "tokens read again", reread],
    ["fresh", "new tokens in prompts", Math.max(0, usage.promptTokens - reread)],
    ["written", "tokens written", usage.completionTokens],
  ];
}

function UsageBar(props: {
  name: string;
  total: number;
  most: number;
  parts: Parts;
  facts: readonly (readonly [string, string])[];
}) {
  const { name, total, most, parts, facts } = props;
  return (
    <div class="usage">
      <h2>{name}</h2>
      <Facts facts={facts} />
      <div class="bar" role="img" aria-label={parts.map(([, label, tokens]) => `${count(tokens)} ${label}`).join(", ")}>
        {parts.map(([kind, label, tokens]) =>
          tokens > 0 ? (
            <span
              class={`part ${kind} hue-${legend[kind].hue}`}
              style={{ width: `${(100 * tokens) / most}%` }}
              title={`${count(tokens)} ${label} (${percent(tokens / Math.max(1, total), 0)})`}
            >
              {tokens / most > 0.08 ? percent(tokens / Math.max(1, total), 0) : ""}
            </span>
          ) : null,
        )}
      </div>
    </div>
  );
}
