/**
 * How the app gets data: `useResource` asks the server and asks again when files changed; one stream of events serves the
 * whole app.
 */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Violation } from "../../core/trajectory.ts";
import type { StudioEvent } from "../api/open-index.ts";
import { place, setQuery } from "./router.ts";

const tokenKey = "coa-studio-token";

/** Takes the token out of the address, so that it is in no link that somebody copies. */
function takeToken(): string {
  const given = place.value.query.get("token");
  if (given) {
    localStorage.setItem(tokenKey, given);
    setQuery({ token: undefined });
  }
  return given ?? localStorage.getItem(tokenKey) ?? "";
}

const token = takeToken();

/** An answer that the server refused, in its words. */
export class ServerError extends Error {
  readonly status: number;
  /** What is wrong in which segment of a chain that was sent. */
  readonly problems: readonly Violation[];

  constructor(status: number, message: string, problems: readonly Violation[] = []) {
    super(message);
    this.status = status;
    this.problems = problems;
  }
}

/** Asks the server with this start's token. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
  return fetch(`./api/${path}`, { ...init, headers });
}

const known = new Map<string, { etag: string; value: unknown }>();
const mostKnown = 200;

/** The JSON at a path; what did not change since the last time is not sent again. */
export async function askJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const before = known.get(path);
  const response = await ask(path, { signal, headers: before ? { "if-none-match": before.etag } : {} });
  if (response.status === 304 && before) return before.value as T;
  if (!response.ok) throw await refusalOf(response);
  // A screen that is left in the middle of an answer must not leave half of it behind as known: reading throws then.
  const value = (await response.json()) as T;
  known.delete(path);
  known.set(path, { etag: response.headers.get("etag") ?? "", value });
  if (known.size > mostKnown) known.delete(known.keys().next().value!);
  return value;
}

/** Sends a value and reads the answer. */
export async function postJson<T>(path: string, value: unknown): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(value), headers: { "content-type": "application/json" } };
  const response = await ask(path, init);
  if (!response.ok) throw await refusalOf(response);
  return (await response.json()) as T;
}

/** Why the server refused, in its words where it has any. */
async function refusalOf(response: Response): Promise<ServerError> {
  const answer = (await response.json().catch(() => ({}))) as {
    error?: { message?: string; problems?: Violation[] };
  };
  const { message = `HTTP ${response.status}`, problems } = answer.error ?? {};
  return new ServerError(response.status, message, problems);
}

/** Data that is there, or on its way, or why it can't be. While it is asked again the old data stay. */
export interface Resource<T> {
  data?: T;
  error?: string;
  loading: boolean;
}

/** The data at a path. `live` says which events make it worth asking again; it is asked again when `version` changes too. */
export function useResource<T>(
  path: string | undefined,
  live?: (event: StudioEvent) => boolean,
  version = 0,
): Resource<T> {
  const [state, setState] = useState<Resource<T> & { path?: string }>({ loading: path !== undefined });
  useEffect(() => {
    if (path === undefined) return undefined;
    const gone = new AbortController();
    const load = () =>
      askJson<T>(path, gone.signal).then(
        (data) => setState({ data, loading: false, path }),
        (error: Error) => {
          if (!gone.signal.aborted)
            setState((old) => ({
              data: old.path === path ? old.data : undefined,
              error: error.message,
              loading: false,
              path,
            }));
        },
      );
    setState((old) => ({ ...old, loading: true }));
    void load();
    const stop = live && onEvents((event) => live(event) && later());
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void load();
      }, 400);
    };
    return () => {
      gone.abort();
      clearTimeout(timer);
      stop?.();
    };
  }, [path, version]);
  return state.path === path ? state : { loading: path !== undefined };
}

/** Asks again every two seconds while work runs: there is no event for its end, or for its process being killed. */
export function useLooks(isRunning: boolean, look: (next: (looks: number) => number) => void): void {
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => look((looks) => looks + 1), 2_000);
    return () => clearInterval(timer);
  }, [isRunning]);
}

/** Whether the stream of events is open. */
export const connected = signal(false);

const listeners = new Set<(event: StudioEvent) => void>();

/** Calls back at every event until the returned function is called. */
export function onEvents(listener: (event: StudioEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads the stream, again after every break, from the last event that was seen. */
export async function followEvents(): Promise<void> {
  let cursor = 0;
  for (;;) {
    try {
      const response = await ask(`events?cursor=${cursor}`);
      if (response.status === 401) return;
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      connected.value = true;
      let rest = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const events = (rest + part.value).split("\n\n");
        rest = events.pop()!;
        for (const text of events) {
          if (!text.startsWith("data: ")) continue;
          const event = JSON.parse(text.slice(6)) as StudioEvent;
          cursor = event.cursor;
          for (const listener of listeners) listener(event);
        }
      }
    } catch {
      // The server is gone or restarts: the next try tells.
    }
    connected.value = false;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }
}
