/** Who plays the roles, put together from flags: one server and model for all, others for single roles. */
import { UsageError } from "../../core/errors.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import type { RolePlayer } from "../../team/role.ts";
import type { Options } from "../command.ts";

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

/** Opens a client per model. */
export function openPlayers(values: { model?: string; "base-url"?: string; role?: string[] }): Players {
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
  return {
    roles: clients,
    async close() {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}
