/** What a run was about and how it ended. */
import type { BesideView } from "../../api/beside-reader.ts";
import { place, setQuery } from "../router.ts";
import { Chip } from "./chip.tsx";
import { Choice } from "./choice.tsx";
import { LongText } from "./long-text.tsx";

export function RunHead({ view }: { view: BesideView }) {
  const { run, chain, chains, places } = view;
  const question = run?.question ?? chain?.prompt.findLast(({ role }) => role === "user")?.text;
  const answer = chain?.answer ?? run?.answer;
  const reward = chain?.reward;
  const { family = chain?.family, ending } = run ?? chain ?? {};
  return (
    <header class="run-head">
      <h1>{question ? <LongText value={question} plain /> : "A run without a question"}</h1>
      <p class="answer">
        <span class="soft">answer</span>{" "}
        {answer ? (
          <strong>
            <LongText value={answer} plain />
          </strong>
        ) : (
          <em>none</em>
        )}
      </p>
      <div class="chips">
        {run && <Chip text={run.topology} title="How the agents share context" />}
        {run && <Chip text={`recorded by ${run.source}`} />}
        {family && <Chip text={family} title="Family of the task" />}
        {ending && (
          <Chip text={ending.reason} hue={ending.reason === "answered" ? "green" : "rose"} title={ending.detail} />
        )}
        {reward !== undefined && (
          <Chip
            text={`reward ${Number(reward.toFixed(3))}`}
            hue={reward >= 1 ? "green" : reward <= 0 ? "rose" : "amber"}
          />
        )}
        {chain && chain.violations.length > 0 && (
          <Chip
            text={`${chain.violations.length} violations`}
            hue="rose"
            title={chain.violations.map(({ message }) => message).join("\n")}
          />
        )}
        {run?.untrainable.map(({ reason, detail }) => (
          <Chip text={`not for training: ${reason}`} hue="rose" title={detail} />
        ))}
        {run?.notes.map((note) => (
          <Chip text={note} hue="amber" />
        ))}
      </div>
      <p class="place soft tiny">
        {[places.run, places.chain].filter((one) => one !== undefined).join("  →  ")}
        {chains.length > 1 && (
          <Choice
            label=" chain"
            value={place.value.query.get("chain") ?? chain?.id ?? ""}
            options={chains.map(({ key, file }) => [key, `${key} in ${file}`])}
            onChoose={(key) => setQuery({ chain: key })}
          />
        )}
      </p>
    </header>
  );
}
