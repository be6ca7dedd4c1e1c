/** What the team spent beside what the chain needs for the same, with the tokens that were read again drawn as bars. */
import { count, duration, percent } from "../../../report/format-figures.ts";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView } from "../../api/run-view.ts";

/** What tokens were: in the legend, in the words of a bar, and their hue. */
const kinds = [
  ["reread", "read again", "tokens read again", "amber"],
  ["retold", "told again", "tokens told again", "rose"],
  ["unknown", "prompt not recorded", "tokens of prompts that were not recorded", "none"],
  ["fresh", "new in the prompt", "new tokens in prompts", "blue"],
  ["written", "written", "tokens written", "green"],
] as const;

type Parts = Partial<Record<(typeof kinds)[number][0], number>>;

export function RunFigures({ run, chain }: { run?: RunView; chain?: ChainView }) {
  const most = Math.max(run?.usage.billedTokens ?? 0, chain?.usage.billedTokens ?? 0, 1);
  const fewer = (run?.usage.billedTokens ?? 0) / (chain?.usage.billedTokens || 1);
  return (
    <section class="panel" aria-label="Cost">
      {run && (
        <UsageBar
          name="team"
          facts={[factOf(run.agents.length, "agent"), ...usageFacts(run), [duration(run.usage.wallMs), "time"]]}
          parts={teamParts(run)}
          most={most}
        />
      )}
      {chain && (
        <UsageBar
          name="chain"
          facts={[
            ["1", "model"],
            ...usageFacts(chain),
            ...(run ? [[`${fewer.toFixed(1)}×`, "fewer billed"] as const] : []),
          ]}
          parts={chainParts(chain)}
          most={most}
        />
      )}
      <p class="legend flex soft tiny">
        {kinds.map(([kind, means, , hue]) => (
          <span>
            <i class={`part ${kind} hue-${hue}`} /> {means}
          </span>
        ))}
      </p>
    </section>
  );
}

type Fact = readonly [value: string, name: string];

function factOf(number: number, word: string): Fact {
  return [count(number), number === 1 ? word : `${word}s`];
}

function usageFacts({ usage }: RunView | ChainView): Fact[] {
  return [
    factOf(usage.modelCalls, "model call"),
    factOf(usage.toolCalls, "tool call"),
    [count(usage.billedTokens), "tokens billed"],
    [count(usage.computedTokens), "computed"],
  ];
}

function teamParts({ steps }: RunView): Parts {
  const sum = (pick: (tokens: RunView["steps"][number]["tokens"]) => number) =>
    steps.reduce((all, { tokens }) => all + pick(tokens), 0);
  return {
    reread: sum(({ reread }) => reread),
    retold: sum(({ retold }) => retold),
    unknown: sum(({ unknown }) => unknown),
    fresh: sum(({ prompt, reread, retold, unknown }) => prompt - reread - retold - unknown),
    written: sum(({ completion }) => completion),
  };
}

function chainParts({ usage }: ChainView): Parts {
  const reread = Math.max(0, usage.billedTokens - usage.computedTokens);
  return { reread, fresh: Math.max(0, usage.promptTokens - reread), written: usage.completionTokens };
}

function UsageBar({ name, facts, parts, most }: { name: string; facts: readonly Fact[]; parts: Parts; most: number }) {
  const drawn = kinds.flatMap(([kind, , label, hue]) =>
    parts[kind] ? [{ kind, label, hue, tokens: parts[kind] }] : [],
  );
  const total = drawn.reduce((sum, { tokens }) => sum + tokens, 0);
  const share = (tokens: number) => percent(tokens / total, 0);
  return (
    <div class="usage cells">
      <h2>{name}</h2>
      <Facts facts={facts} />
      <div class="bar" role="img" aria-label={drawn.map(({ label, tokens }) => `${count(tokens)} ${label}`).join(", ")}>
        {drawn.map(({ kind, label, hue, tokens }) => (
          <span
            class={`part tiny ${kind} hue-${hue}`}
            style={{ width: `${(100 * tokens) / most}%` }}
            title={`${count(tokens)} ${label} (${share(tokens)})`}
          >
            {tokens / most > 0.08 ? share(tokens) : ""}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Figures in a row, each with its word. */
export function Facts({ facts }: { facts: readonly (readonly [value: string, name: string])[] }) {
  return (
    <dl class="facts flex">
      {facts.map(([value, name]) => (
        <div>
          <dd>{value}</dd> <dt class="small">{name}</dt>
        </div>
      ))}
    </dl>
  );
}
