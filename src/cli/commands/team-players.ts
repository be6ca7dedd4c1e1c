/** Who plays the roles, put together from settings: one server and model for all, others for single roles. */
import { UsageError } from "../../core/errors.ts";
import type { Price } from "../../core/model.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import type { RolePlayer } from "../../team/role.ts";
import type { Section } from "../settings/index.ts";
import type { Ledger } from "../spending.ts";

export interface Players {
  roles: Record<string, RolePlayer>;
  close(): Promise<void>;
}

/** The model of all roles, and those of single ones. */
export interface PlayerSettings {
  model: Pick<Section<"model">, "name" | "baseUrl">;
  team: Pick<Section<"team">, "roles">;
}

/** Opens a client per model; with a ledger, what their calls cost is added up there. */
export function openPlayers(
  { model: { name, baseUrl: baseURL }, team }: PlayerSettings,
  ledger?: Pick<Ledger, "watch">,
): Players {
  if (!baseURL && !process.env["OPENAI_BASE_URL"] && !process.env["OPENAI_API_KEY"]) {
    throw new UsageError("no model to play the roles: give --base-url (and --model), or set OPENAI_BASE_URL");
  }
  const open = (model: string | undefined) => openaiCompatible({ baseURL, model });
  const clients = { default: open(name) } as Record<string, ReturnType<typeof openaiCompatible>>;
  for (const [role, model] of Object.entries(team.roles)) clients[role] = open(model);
  const roles = ledger
    ? Object.fromEntries(Object.entries(clients).map(([role, one]) => [role, ledger.watch(one)]))
    : clients;
  return {
    roles,
    async close() {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}

/** One price for every player: a server's model may tell its name only when it is first called. */
export function samePrice(price: Price): Readonly<Record<string, Price>> {
  return new Proxy({}, { get: () => price });
}
