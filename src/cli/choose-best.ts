/** Best-of-n from settings: how many runs of a task, and who chooses among them. */
import { UsageError } from "../core/errors.ts";
import type { ChatModel, ChatRequest } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { System } from "../core/system.ts";
import { bestOf } from "../evaluate/best-of.ts";
import { chainResult } from "../evaluate/chain-system.ts";
import { byMajority, type Choose } from "../evaluate/choose.ts";
import { byJudge } from "../evaluate/judge-choice.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { BestOfChains } from "../serve/best-of-chains.ts";
import type { OpenChain } from "./open-chain.ts";
import type { Session } from "./session.ts";
import type { Section } from "./settings/index.ts";

/** The model that answers, as one that can be asked to choose, where it chats. */
export function chatOf({ name, chat }: OpenChain["model"]): ChatModel | undefined {
  return chat && { name, chat: (request: ChatRequest) => chat(request) };
}

/** How many runs, and who chooses among them; undefined if one run is enough. */
function openChoice(
  settings: Section<"choose">,
  session: Session,
  answering?: ChatModel,
): { n: number; way: string; judge?: ChatModel; choose: Choose } | undefined {
  const { bestOf: n, model, baseUrl: baseURL } = settings;
  if (n === undefined) return undefined;
  const named = model !== undefined || baseURL !== undefined;
  const judge = named ? session.closeAtEnd(openaiCompatible({ baseURL, model })) : answering;
  const way = settings.by ?? (judge ? "judge" : "majority");
  if (way === "judge" && !judge)
    throw new UsageError("--choose judge needs a model that chats: name one with --set choose.model=<name>");
  const choose: Choose = way === "judge" ? byJudge(judge!) : byMajority();
  return { n, way, judge, choose };
}

/** The system as the settings want it: as it is, or run several times with a choice. */
export function openBestOf(
  settings: Section<"choose">,
  session: Session,
  system: System,
  answering?: ChatModel,
): System {
  const choice = openChoice(settings, session, answering);
  if (!choice) return system;
  const { n, way, judge, choose } = choice;
  const model = way === "judge" ? judge!.name : undefined;
  return {
    ...bestOf(system, n, choose),
    name: `${system.name}-best-of-${n}`,
    identity: { ...system.identity, bestOf: { n, way, model } },
  };
}

/** The same settings for a server: each request is answered by the chosen one of several chains. */
export function openServedBestOf(
  settings: Section<"choose">,
  session: Session,
  profile: Profile,
  answering?: ChatModel,
): BestOfChains | undefined {
  const choice = openChoice(settings, session, answering);
  if (!choice) return undefined;
  const { n, choose } = choice;
  return {
    n,
    async choose(task, candidates, signal) {
      const results = candidates.map((chain) => chainResult(profile, chain));
      return choose(task, results, { signal });
    },
  };
}
