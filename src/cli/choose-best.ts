/** Best-of-n from settings: how many runs of a task, and who chooses among them. */
import { UsageError } from "../core/errors.ts";
import type { ChatModel } from "../core/model.ts";
import type { System } from "../core/system.ts";
import { bestOf } from "../evaluate/best-of.ts";
import { byMajority } from "../evaluate/choose.ts";
import { byJudge } from "../evaluate/judge-choice.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { Session } from "./session.ts";
import type { Section } from "./settings/index.ts";

/** The system as the settings want it: as it is, or run several times with a choice. */
export function openBestOf(
  settings: Section<"choose">,
  session: Session,
  system: System,
  answering?: ChatModel,
): System {
  const { bestOf: n, model, baseUrl: baseURL } = settings;
  if (n === undefined) return system;
  const named = model !== undefined || baseURL !== undefined;
  const judge = named ? session.closeAtEnd(openaiCompatible({ baseURL, model })) : answering;
  const way = settings.by ?? (judge ? "judge" : "majority");
  if (way === "judge" && !judge)
    throw new UsageError("choose.by=judge needs a model that chats: name one with --set choose.model=<name>");
  return {
    ...bestOf(system, n, way === "judge" ? byJudge({ model: judge! }) : byMajority()),
    name: `${system.name}-best-of-${n}`,
    identity: { ...system.identity, bestOf: { n, way, model: way === "judge" ? judge!.name : undefined } },
  };
}
