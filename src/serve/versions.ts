/**
 * Several versions of a model behind one address. A conversation stays with the version that it began with; a version is opened
 * at its first conversation. Which one it is decides the caller (`chain-of-agents/switch` by a registry).
 */
import type { ChainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";

/** Which version answers, and how one is opened. */
export interface Versions {
  /** The version of a conversation, by name. */
  versionOf(conversation: string): Promise<string>;
  open(version: string): Promise<ChainService>;
  /** Whether a conversation is named by its first message, or all conversations of a key are one; the first by default. */
  stickyBy?: "conversation" | "key";
}

/** The name of the conversation that a request belongs to: whose it is, and how it began. Every turn repeats that. */
export function conversationOf({ owner, task }: ChainRequest, by: Versions["stickyBy"]): string {
  if (by === "key" && owner !== "anyone") return owner;
  const began = [...(task.history ?? []), { role: "user", content: task.question }].find(({ role }) => role === "user");
  return `${owner}\n${began?.content}`;
}

/** A service that starts each chain at the version of its conversation; all else is that of the version it was made with. */
export function versionedService(own: ChainService, versions: Versions): ChainService {
  const opened = new Map<string, Promise<ChainService>>();
  return {
    ...own,
    get running() {
      return own.running;
    },
    get waiting() {
      return own.waiting;
    },
    async start(request, signal) {
      const version = await versions.versionOf(conversationOf(request, versions.stickyBy));
      const service = opened.get(version) ?? versions.open(version);
      opened.set(version, service);
      // A version that could not be opened is tried again by the next request.
      const ready = await service.catch((error: unknown) => {
        opened.delete(version);
        throw error;
      });
      return ready.start(request, signal);
    },
  };
}
