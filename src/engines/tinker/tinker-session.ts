/**
 * A session with a Tinker server: the server keeps models as long as it gets requests from us, so a heartbeat is sent
 * every ten seconds. A laptop that slept too long finds its session gone: what needs it then fails with what to do.
 */
import { HttpError } from "../../base/http/http-client.ts";
import { CoaError } from "../../core/errors.ts";
import type { TinkerClient } from "./tinker-client.ts";

export interface TinkerSession {
  readonly id: string;
  /** Throws when the server no longer knows the session. */
  check(): void;
  close(): void;
}

const heartbeatMs = 10_000;

/** The version of the protocol that we speak, as its own client would say it. */
export const protocolVersion = "0.25.0";

/** Starts a session and keeps it alive until it is closed. */
export async function openSession(client: TinkerClient, onNote: (text: string) => void): Promise<TinkerSession> {
  const created = await client.ask("POST", "create_session", {
    tags: [],
    user_metadata: { client: "chain-of-agents" },
    sdk_version: protocolVersion,
    type: "create_session",
  });
  for (const key of ["info_message", "warning_message"]) if (typeof created[key] === "string") onNote(created[key]);
  if (typeof created["error_message"] === "string") throw new CoaError("engine", created["error_message"]);
  const id = String(created["session_id"]);
  let lost = false;
  const timer = setInterval(() => {
    client.ask("POST", "session_heartbeat", { session_id: id, type: "session_heartbeat" }).catch((error: unknown) => {
      lost ||= error instanceof HttpError && error.status === 404;
    });
  }, heartbeatMs);
  timer.unref();
  return {
    id,
    check() {
      if (lost) throw forgotten();
    },
    close: () => clearInterval(timer),
  };
}

function forgotten(cause?: unknown): CoaError {
  const what = "the server no longer knows our session (it was restarted, or had no request of ours for too long)";
  return new CoaError("engine", `${what}; resume from the last checkpoint`, { cause });
}

/** Waits for an answer. That the server does not know what it gave us means that it has forgotten the session. */
export async function remembered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const unknown = /"(?:Model|Future|Session|Sampling session) not found"/;
    throw error instanceof HttpError && error.status === 404 && unknown.test(error.body) ? forgotten(error) : error;
  }
}
