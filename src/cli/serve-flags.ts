/** What all servers share: where they listen, who may call, how they stop. */

import { once } from "node:events";
import { accessOf } from "../base/http/access.ts";
import { readyLine } from "../base/http/listen.ts";
import { printable } from "../core/printable.ts";
import { readKeys, type ServeKey } from "../serve/keys.ts";
import { requestLog, serve } from "../serve/serve.ts";
import type { ServedHandler, ServeOptions } from "../serve/served-handler.ts";
import type { Output } from "./output.ts";
import { whole } from "./setting.ts";
import type { Section } from "./settings/index.ts";

/** The port of a server that has a default port of its own. */
export function portFlag(port: number) {
  return whole("Port; 0 for any free one", { default: port, min: 0, max: 65_535, valueName: "n" });
}

/** The keys that callers need: of the file, or the one in the environment. */
export async function keysOf(file: string | undefined): Promise<ServeKey[]> {
  const fromEnvironment = process.env["COA_API_KEY"];
  return file ? readKeys(file) : fromEnvironment ? [{ key: fromEnvironment }] : [];
}

/** The settings as options of a server: its port, and what its handler is to know. */
export async function portOptions(settings: Section<"server">) {
  const { port, host, apiKeyFile, cors, publicHosts, maxBodyMb, drainSeconds, graceSeconds, log } = settings;
  const handler: ServeOptions = {
    keys: await keysOf(apiKeyFile),
    access: accessOf(host, { ...(cors.length > 0 && { origins: cors }), ...(publicHosts.length > 0 && { hosts: publicHosts }) }), // biome-ignore format: one rule
    maxBodyBytes: maxBodyMb * 2 ** 20,
    onRequest: requestLog(log, (line) => process.stderr.write(`${printable(line)}\n`)),
  };
  return { port, host, drainMs: drainSeconds * 1000, graceMs: graceSeconds * 1000, handler };
}

/** Serves until the signal aborts. */
export async function runServer(
  served: ServedHandler,
  { drainMs, graceMs, port, host }: { port?: number; host?: string; drainMs: number; graceMs: number },
  { out, signal, json }: { out: Output; signal: AbortSignal; json: boolean },
): Promise<number> {
  const server = await serve(served, { port, host });
  if (json) out.json({ ready: server.origin });
  else out.print(readyLine(server.origin));
  if (!signal.aborted) await once(signal, "abort");
  await server.stop(drainMs, graceMs);
  return 0;
}
