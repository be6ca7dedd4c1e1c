/** Best-of-n from flags: how many runs of a task, and who chooses among them. */
import { UsageError } from "../core/errors.ts";
import type { ChatModel, ChatRequest } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { System } from "../core/system.ts";
import { bestOf, checkedEnough } from "../evaluate/best-of.ts";
import { chainResult } from "../evaluate/chain-system.ts";
import { byCheck, byMajority, type Choose } from "../evaluate/choose.ts";
import { byJudge } from "../evaluate/judge-choice.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { BestOfChains } from "../serve/best-of-chains.ts";
import { numberOf, type Options, type Values } from "./command.ts";
import { choiceOf } from "./flag-values.ts";
import type { OpenChain } from "./open-chain.ts";

/** Flags of test-time scaling. */
export const bestOfFlags = {
  "best-of": { type: "string", valueName: "n", describe: "Run each task n times and give the answer that is chosen; all runs are counted" },
  choose: { type: "string", valueName: "way", describe: "Who chooses: judge (a model), majority, or check (the chain's own double check)" },
  enough: { type: "string", valueName: "score", describe: "With --best-of: one run after the other, until the double check of one gives this score" },
  "choose-model": { type: "string", valueName: "name", describe: "The model that chooses (default: the one that answers)" },
  "choose-url": { type: "string", valueName: "url", describe: "Its OpenAI-compatible server (default OPENAI_BASE_URL)" },
} as const satisfies Options; // biome-ignore format: one flag a line

type BestOfValues = Values<typeof bestOfFlags>;

/** The model that answers, as one that can be asked to choose, where it chats. */
export function chatOf({ name, chat }: OpenChain["model"]): ChatModel | undefined {
  return chat && { name, chat: (request: ChatRequest) => chat(request) };
}

/** How many runs, and who chooses among them; undefined where the flags ask for one run. */
function openChoice(
  values: BestOfValues,
  answering?: ChatModel,
): { n: number; enough?: number; way: string; judge?: ChatModel; choose: Choose; close(): Promise<void> } | undefined {
  const n = numberOf(values["best-of"], "best-of", { min: 1, integer: true });
  const named = values["choose-model"] !== undefined || values["choose-url"] !== undefined;
  const enough = numberOf(values.enough, "enough", { min: 1 });
  if (n === undefined) {
    if (enough !== undefined) throw new UsageError("--enough says when to stop trying: give --best-of <n>");
    if (named || values.choose !== undefined)
      throw new UsageError("--choose says who picks among several runs: give --best-of <n>");
    return undefined;
  }
  const opened = named ? openaiCompatible({ baseURL: values["choose-url"], model: values["choose-model"] }) : undefined;
  const judge = opened ?? answering;
  const way = choiceOf(values.choose ?? (judge ? "judge" : "majority"), "choose", ["judge", "majority", "check"]);
  if (way === "judge" && !judge)
    throw new UsageError("--choose judge needs a model that chats: name one with --choose-model");
  const choose: Choose = way === "judge" ? byJudge(judge!) : way === "check" ? byCheck() : byMajority();
  return { n, enough, way, judge, choose, close: async () => void (await opened?.close()) };
}

/** The system as the flags want it: as it is, or run several times with a choice. */
export function openBestOf(
  values: BestOfValues,
  system: System,
  answering?: ChatModel,
): { system: System; n?: number; close(): Promise<void> } {
  const choice = openChoice(values, answering);
  if (!choice) return { system, close: async () => {} };
  const { n, enough, way, judge, choose, close } = choice;
  const identity = {
    ...system.identity,
    bestOf: { n, enough, way, model: way === "judge" ? judge!.name : undefined },
  };
  return {
    system: { ...bestOf(system, n, choose, { enough }), name: `${system.name}-best-of-${n}`, identity },
    n,
    close,
  };
}

/** The same flags for a server: each request is answered by the chosen one of several chains. */
export function openServedBestOf(
  values: BestOfValues,
  profile: Profile,
  answering?: ChatModel,
): { bestOf?: BestOfChains; close(): Promise<void> } {
  const choice = openChoice(values, answering);
  if (!choice) return { close: async () => {} };
  const { n, enough, choose, close } = choice;
  return {
    bestOf: {
      n,
      ...(enough !== undefined && { isEnough: (chain) => checkedEnough(chainResult(profile, chain), enough) }),
      async choose(task, candidates, signal) {
        return choose(
          task,
          candidates.map((chain) => chainResult(profile, chain)),
          { signal },
        );
      },
    },
    close,
  };
}
