/** Flags that all servers share: where they listen, who may ask, how they stop. */
import { accessOf } from "../base/http/access.ts";
import type { ServeOptions } from "../serve/chain-handler.ts";
import { readKeys, type ServeKey } from "../serve/keys.ts";
import type { PortOptions } from "../serve/serve.ts";
import { numberOf, type Options, type Values } from "./command.ts";

export const portFlags = {
  port: { type: "string", default: "4242", valueName: "n", describe: "Port; 0 for any free one" },
  host: { type: "string", default: "127.0.0.1", valueName: "address", describe: "Address to listen on; beyond this machine only with keys" },
  "api-key-file": { type: "string", valueName: "file", describe: "Keys that callers need, one to a line (or COA_API_KEY)" },
  cors: { type: "string", multiple: true, default: [], valueName: "origin", describe: "Origin of web pages that may ask; none by default" },
  "max-body": { type: "string", default: "20", valueName: "mb", describe: "Largest body of a request in megabytes" },
  drain: { type: "string", default: "30", valueName: "seconds", describe: "Time for requests under way when the server is stopped" },
} as const satisfies Options; // biome-ignore format: one flag a line

/** Of those, what a handler is to know. */
export function handlerOptions({ keys, access, maxBodyBytes }: ServeOptions): ServeOptions {
  return { keys, access, maxBodyBytes };
}

/** The flags as options of a server. */
export async function portOptions(
  flags: Values<typeof portFlags>,
): Promise<PortOptions & ServeOptions & { drainMs: number }> {
  const fromEnvironment = process.env["COA_API_KEY"];
  const keys: ServeKey[] = flags["api-key-file"]
    ? await readKeys(flags["api-key-file"])
    : fromEnvironment
      ? [{ key: fromEnvironment }]
      : [];
  return {
    port: numberOf(flags.port, "port", { min: 0, max: 65_535, integer: true }),
    host: flags.host,
    keys,
    access: accessOf(flags.host, flags.cors.length > 0 ? { origins: flags.cors } : {}),
    maxBodyBytes: numberOf(flags["max-body"], "max-body", { min: 0.001 })! * 2 ** 20,
    drainMs: numberOf(flags.drain, "drain", { min: 0 })! * 1000,
  };
}
