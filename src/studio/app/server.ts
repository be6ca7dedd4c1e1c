/**
 * How the app gets data: `useResource` asks the server and asks again when files changed; one stream of events serves the
 * whole app.
 */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { AnnotationRefusal } from "../api/annotation-routes.ts";
import type { CatalogEvent } from "../api/catalog-worker.ts";
import { place, setQuery } from "./router.ts";

const tokenKey = "coa-studio-token";

/** Takes the token out of the address, so that a copied link does not hold it. */
function takeToken(): string {
  const given = place.value.query.get("token");
  if (given) {
    localStorage.setItem(tokenKey, given);
    setQuery({ token: undefined });
  }
  return given ?? localStorage.getItem(tokenKey) ?? "";
}

const token = takeToken();

/** Asks the server with this start's token. */
async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
  return fetch(`./api/${path}`, { ...init, headers });
}

export async function askJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(path, { signal });
  if (!response.ok) throw await refusalOf(response);
  return response.json();
}

/** Sends a value; an answer that is a refusal is thrown. */
export async function post(path: string, value: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json" };
  const response = await ask(path, { method: "POST", body: JSON.stringify(value), headers, signal });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** Why the server refused, in its words where it has any; its cause is what is wrong in which segment of a chain. */
async function refusalOf(response: Response): Promise<Error> {
  const answer = (await response.json().catch(() => ({}))) as Partial<AnnotationRefusal>;
  const { message = `HTTP ${response.status}`, problems } = answer.error ?? {};
  return new Error(message, { cause: problems });
}

/** Data that is there, or on its way, or why it can't be. While it is asked again the old data stay. */
export interface Resource<T> {
  data?: T;
  error?: string;
  loading: boolean;
}

export interface ResourceOptions<T> {
  /** Which events make it worth asking again. */
  live?: (event: CatalogEvent) => boolean;
  /** Asked again every two seconds while this holds: there is no event for the end of work, or for its process being killed. */
  polls?: (data: T) => boolean;
  /** Asked again when it changes. */
  version?: number;
  /** While the data of another path are on their way, those of the last one stay. */
  keeps?: boolean;
}

/** The data at a path; none is asked for where it is undefined. */
export function useResource<T>(path: string | undefined, options: ResourceOptions<T> = {}): Resource<T> {
  const { live, polls, version, keeps } = options;
  const [state, setState] = useState<Resource<T> & { path?: string }>({ loading: path !== undefined });
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    if (path === undefined) return undefined;
    const gone = new AbortController();
    const load = () =>
      askJson<T>(path, gone.signal).then(
        (data) => setState({ data, loading: false, path }),
        ({ message: error }: Error) => {
          const kept = (old: typeof state) => (old.path === path ? old.data : undefined);
          if (!gone.signal.aborted) setState((old) => ({ data: kept(old), error, loading: false, path }));
        },
      );
    setState((old) => ({ ...old, loading: true }));
    void load();
    const later = soon(load, 400);
    const stop = live && onEvents((event) => live(event) && later.ask());
    return () => {
      gone.abort();
      later.forget();
      stop?.();
    };
  }, [path, version, ticks]);
  const current = state.path === path ? state : { loading: path !== undefined, ...(keeps && { data: state.data }) };
  const isPolling = polls !== undefined && current.data !== undefined && polls(current.data);
  useEffect(() => {
    if (!isPolling) return undefined;
    const timer = setInterval(() => setTicks((old) => old + 1), 2_000);
    return () => clearInterval(timer);
  }, [isPolling]);
  return current;
}

/** Does something once a little later, however often it is asked for until then. */
export function soon(act: () => void, ms: number): { ask(): void; forget(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    ask() {
      timer ??= setTimeout(() => {
        timer = undefined;
        act();
      }, ms);
    },
    forget: () => clearTimeout(timer),
  };
}

/** Whether the stream of events is open. */
export const connected = signal(false);

const listeners = new Set<(event: CatalogEvent) => void>();

/** Calls back at every event until the returned function is called. */
export function onEvents(listener: (event: CatalogEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads the stream, again after every break; its first event makes the page ask for everything again. */
export async function followEvents(): Promise<void> {
  for (;;) {
    try {
      const response = await ask("events");
      if (response.status === 401) return;
      connected.value = true;
      for await (const event of eventsOf<CatalogEvent>(response)) {
        for (const listener of listeners) listener(event);
      }
    } catch {
      // The server is gone or restarts: the next try tells.
    }
    connected.value = false;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }
}

/** The events of an answer as they come. */
export async function* eventsOf<T>(response: Response): AsyncGenerator<T> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (rest + part.value).split("\n\n");
    rest = events.pop()!;
    for (const text of events) if (text.startsWith("data: {")) yield JSON.parse(text.slice(6)) as T;
  }
}
