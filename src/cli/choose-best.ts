/** Best-of-n from settings: how many runs of a task, and who chooses among them. */
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
import type { OpenChain } from "./open-chain.ts";
import type { Section } from "./settings/index.ts";

/** The model that answers, as one that can be asked to choose, where it chats. */
export function chatOf({ name, chat }: OpenChain["model"]): ChatModel | undefined {
  return chat && { name, chat: (request: ChatRequest) => chat(request) };
}

/** How many runs, and who chooses among them; undefined if one run is enough. */
function openChoice(
  settings: Section<"choose">,
  answering?: ChatModel,
): { n: number; enough?: number; way: string; judge?: ChatModel; choose: Choose; close(): Promise<void> } | undefined {
  const { bestOf: n, enough, model, baseUrl: baseURL } = settings;
  const named = model !== undefined || baseURL !== undefined;
  if (n === undefined) {
    if (enough !== undefined || settings.by !== undefined)
      throw new UsageError("--choose and choose.enough choose among several runs: give --best-of <n>");
    return undefined;
  }
  const opened = named ? openaiCompatible({ baseURL, model }) : undefined;
  const judge = opened ?? answering;
  const way = settings.by ?? (judge ? "judge" : "majority");
  if (way === "judge" && !judge)
    throw new UsageError("--choose judge needs a model that chats: name one with --set choose.model=<name>");
  const choose: Choose = way === "judge" ? byJudge(judge!) : way === "check" ? byCheck() : byMajority();
  return { n, enough, way, judge, choose, close: async () => void (await opened?.close()) };
}

/** The system as the settings want it: as it is, or run several times with a choice. */
export function openBestOf(
  settings: Section<"choose">,
  system: System,
  answering?: ChatModel,
): { system: System; n?: number; close(): Promise<void> } {
  const choice = openChoice(settings, answering);
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

/** The same settings for a server: each request is answered by the chosen one of several chains. */
export function openServedBestOf(
  settings: Section<"choose">,
  profile: Profile,
  answering?: ChatModel,
): { bestOf?: BestOfChains; close(): Promise<void> } {
  const choice = openChoice(settings, answering);
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
