/** Who plays the roles, put together from settings: one server and model for all, others for single roles. */
import { UsageError } from "../../core/errors.ts";
import type { ChatModel } from "../../core/model.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import type { Session } from "../session.ts";
import type { Section } from "../settings/index.ts";
import type { Ledger } from "../spending.ts";

/** Opens a client per role: one model for all, and those of single roles; with a ledger, what their calls cost is added up there. */
export function openPlayers(
  { model, team }: { model: Partial<Section<"model">>; team: Pick<Section<"team">, "roles"> },
  session: Session,
  ledger?: Pick<Ledger, "watch">,
): Record<string, ChatModel> {
  const { name, baseUrl: baseURL } = model;
  if (!baseURL && !process.env["OPENAI_BASE_URL"] && !process.env["OPENAI_API_KEY"]) {
    throw new UsageError("no model to play the roles: give --base-url (and --model), or set OPENAI_BASE_URL");
  }
  const players = Object.entries({ default: name, ...team.roles }).map(([role, own]): [string, ChatModel] => {
    const client = session.closeAtEnd(openaiCompatible({ baseURL, model: own }));
    return [role, ledger ? ledger.watch(client) : client];
  });
  return Object.fromEntries(players);
}
