/** The lines of a growing file: read once, then only what was added. */
import { useEffect, useState } from "preact/hooks";
import type { LinesView } from "../../api/item-readers.ts";
import { askJson, onEvents } from "../server.ts";

/** All lines so far; `undefined` until the first answer. */
export function useLines<T>(file: string | undefined): { lines?: readonly T[]; error?: string } {
  const [state, setState] = useState<{ file?: string; lines?: T[]; error?: string }>({});
  useEffect(() => {
    if (file === undefined) return undefined;
    const gone = new AbortController();
    let lines: T[] = [];
    let next = 0;
    let busy = false;
    const read = async () => {
      if (busy) return;
      busy = true;
      try {
        for (let more = true; more; ) {
          const query = new URLSearchParams({ file, from: String(next) });
          const view = await askJson<LinesView>(`lines?${query}`, gone.signal);
          // A file that shrank was written again.
          if (view.size < next) {
            lines = [];
            next = 0;
            continue;
          }
          lines = [...lines, ...(view.lines as T[])];
          more = view.next > next && view.next < view.size;
          next = view.next;
          setState({ file, lines });
        }
      } catch (error) {
        if (!gone.signal.aborted) setState({ file, lines, error: (error as Error).message });
      } finally {
        busy = false;
      }
    };
    void read();
    const stop = onEvents(() => void read());
    return () => {
      gone.abort();
      stop();
    };
  }, [file]);
  return state.file === file ? state : {};
}
