/** What all servers share: where they listen, who may call, how they stop. */
import { accessOf } from "../base/http/access.ts";
import type { ServeOptions } from "../serve/chain-handler.ts";
import { readKeys, type ServeKey } from "../serve/keys.ts";
import type { PortOptions } from "../serve/serve.ts";
import type { Section } from "./settings/index.ts";

/** Of those, what a handler is to know. */
export function handlerOptions({ keys, access, maxBodyBytes }: ServeOptions): ServeOptions {
  return { keys, access, maxBodyBytes };
}

/** The settings as options of a server. */
export async function portOptions(
  settings: Section<"serve">,
): Promise<PortOptions & ServeOptions & { drainMs: number }> {
  const { port, host, apiKeyFile, cors, maxBodyMb, drainSeconds } = settings;
  const fromEnvironment = process.env["COA_API_KEY"];
  const keys: ServeKey[] = apiKeyFile ? await readKeys(apiKeyFile) : fromEnvironment ? [{ key: fromEnvironment }] : [];
  return {
    port,
    host,
    keys,
    access: accessOf(host, cors.length > 0 ? { origins: cors } : {}),
    maxBodyBytes: maxBodyMb * 2 ** 20,
    drainMs: drainSeconds * 1000,
  };
}
