/** Who plays the roles, put together from flags: one server and model for all, others for single roles. */
import { UsageError } from "../../core/errors.ts";
import type { Price } from "../../core/model.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import type { RolePlayer } from "../../team/role.ts";
import type { Options } from "../command.ts";
import type { Ledger } from "../spending.ts";

/** Flags of players. */
export const playerFlags = {
  model: { type: "string", valueName: "name", describe: "Model that plays the roles (default OPENAI_MODEL)" },
  "base-url": { type: "string", valueName: "url", describe: "OpenAI-compatible server (default OPENAI_BASE_URL)" },
  role: { type: "string", multiple: true, valueName: "role=model", describe: "Another model for one role" },
} as const satisfies Options;

export interface Players {
  roles: Record<string, RolePlayer>;
  close(): Promise<void>;
}

/** Opens a client per model; with a ledger, what their calls cost is added up there. */
export function openPlayers(
  values: { model?: string; "base-url"?: string; role?: string[] },
  ledger?: Pick<Ledger, "watch">,
): Players {
  if (!values["base-url"] && !process.env["OPENAI_BASE_URL"] && !process.env["OPENAI_API_KEY"]) {
    throw new UsageError("no model to play the roles: give --base-url (and --model), or set OPENAI_BASE_URL");
  }
  const open = (model: string | undefined) => openaiCompatible({ baseURL: values["base-url"], model });
  const clients = { default: open(values.model) } as Record<string, ReturnType<typeof openaiCompatible>>;
  for (const pair of values.role ?? []) {
    const [role, model] = pair.split("=");
    if (!role || !model) throw new UsageError(`--role takes role=model, not "${pair}"`);
    clients[role] = open(model);
  }
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
