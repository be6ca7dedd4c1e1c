/** Our training server on loopback with the embedded engine behind it, and our client connected to it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Handler, replyJson } from "../../src/base/http/handler.ts";
import { listen } from "../../src/base/http/listen.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import type { EmbeddedEngineOptions } from "../../src/engines/embedded/engine-messages.ts";
import { openTinkerEngine, type TinkerEngineOptions } from "../../src/engines/tinker/tinker-engine.ts";
import { type TrainerServerOptions, trainerHandler } from "../../src/serve/trainer/trainer-handler.ts";

/** The server as one of another make: it says nothing of what ours adds to the protocol. */
export function withoutExtension(handler: Handler): Handler {
  return async (request, reply) =>
    request.path === "/api/v1/client/config" ? replyJson(reply, 404, { detail: "Not Found" }) : handler(request, reply);
}

/** Starts a server over a model; `open` connects clients to it. */
export async function loopbackTrainer(
  base: EmbeddedEngineOptions,
  sizes: { vocabularySize: number; maxContext: number },
  server: Partial<TrainerServerOptions> = {},
  served: (handler: Handler) => Handler = (handler) => handler,
) {
  const folder = await mkdtemp(join(tmpdir(), "coa-trainer-"));
  const { handler, close } = trainerHandler({
    baseModel: "coa/test",
    maxContext: sizes.maxContext,
    openAdapter: (lora) => openEmbeddedEngine({ ...base, lora }),
    checkpoints: join(folder, "checkpoints"),
    ...server,
  });
  const listening = await listen(served(handler));
  return {
    origin: listening.origin,
    folder,
    open: (options: Partial<TinkerEngineOptions> = {}) =>
      openTinkerEngine({
        baseURL: listening.origin,
        baseModel: "coa/test",
        lora: { rank: 4, seed: 5 },
        vocabularySize: sizes.vocabularySize,
        maxContext: sizes.maxContext,
        ...options,
      }),
    async close() {
      await listening.close();
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
