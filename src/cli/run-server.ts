/** Runs a server until the command is stopped: prints the line that says it is ready, and drains at the end. */
import { once } from "node:events";
import { readyLine } from "../base/http/listen.ts";
import { type PortOptions, serve } from "../serve/serve.ts";
import type { ServedHandler } from "../serve/served-handler.ts";
import type { Output } from "./output.ts";

/** Serves until the signal aborts. */
export async function runServer(
  served: ServedHandler,
  { drainMs, port, host }: PortOptions & { drainMs: number },
  { out, signal, json }: { out: Output; signal: AbortSignal; json: boolean },
): Promise<number> {
  const server = await serve(served, { port, host });
  if (json) out.json({ ready: server.origin });
  else out.print(readyLine(server.origin));
  if (!signal.aborted) await once(signal, "abort");
  await server.stop(drainMs);
  return 0;
}
