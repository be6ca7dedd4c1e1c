/**
 * Text of unknown origin. It is a text node and nothing else: no markup, no links, direction isolated, so that nothing in
 * it runs or reorders what stands beside it. Of a long one the beginning is there; the rest is loaded on demand, and what
 * is not loaded is said.
 */
import { useState } from "preact/hooks";
import { count } from "../../../report/format-figures.ts";
import type { CutText } from "../../api/cut-text.ts";
import { askJson } from "../server.ts";

/** Where the rest of a text is found: the record and the path in it. */
export interface TextPlace {
  kind: "run" | "chain";
  id: string;
  path: string;
}

export function LongText({ value, place, plain }: { value: CutText; place?: TextPlace; plain?: boolean }) {
  const [more, setMore] = useState("");
  const [problem, setProblem] = useState("");
  const shown = value.text + more;
  const missing = value.length - shown.length;
  const load = () => {
    const { kind, id, path } = place!;
    const query = new URLSearchParams({ kind, id, path, from: String(shown.length) });
    askJson<{ text: string }>(`text?${query}`).then(
      ({ text }) => setMore(more + text),
      (error: Error) => setProblem(error.message),
    );
  };
  return (
    <>
      {plain ? (
        <bdi>{shown}</bdi>
      ) : (
        <pre class="wrap text" dir="auto">
          {withoutFirstSpace(shown)}
        </pre>
      )}
      {missing > 0 && (
        <p class="not-loaded">
          {count(missing)} more characters are not loaded{" "}
          {place && (
            <button type="button" class="quiet" onClick={load}>
              load more
            </button>
          )}
          {problem}
        </p>
      )}
    </>
  );
}

/** A model writes a space after each opening tag; the token view shows it, elsewhere it only shifts the first line. */
function withoutFirstSpace(text: string): string {
  return text.replace(/^ (?=\S)/, "");
}

/** The beginning of a text in one line, whatever it holds. */
export function oneLine(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** One line of a text. */
export function OneLine({ text, length = 160 }: { text: string; length?: number }) {
  return <bdi class="one-line">{oneLine(text, length)}</bdi>;
}
