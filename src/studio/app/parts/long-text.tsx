/**
 * Text of unknown origin. It is a text node and nothing else: no markup, no links, direction isolated, so that nothing in
 * it runs or reorders what stands beside it. Of a long one the beginning is there; the rest is loaded on demand, and what
 * is not loaded is said.
 */
import { useState } from "preact/hooks";
import { count } from "../../../report/format-figures.ts";
import type { CutText } from "../../api/cut-text.ts";
import { askJson } from "../server.ts";
import { Button } from "./button.tsx";

/** Where the rest of a text is found: the record, its file where several have the id, and the path in it. */
export interface TextPlace {
  kind: "run" | "chain";
  id: string;
  in?: string;
  path: string;
}

const nextPart = async (place: TextPlace, from: number) =>
  (await askJson<{ text: string }>(`text?${new URLSearchParams({ ...place, from: String(from) })}`)).text;

const mostCharacters = 1_000_000;

/** The whole of a text, loaded part by part: what is edited must be all there. */
export async function wholeText({ text, length }: CutText, place: TextPlace): Promise<string> {
  if (length > mostCharacters)
    throw new Error(`This text has ${length.toLocaleString("en")} characters: too long to edit here.`);
  let whole = text;
  while (whole.length < length) {
    const part = await nextPart(place, whole.length);
    if (part === "") break;
    whole += part;
  }
  return whole;
}

interface Props {
  value: CutText;
  /** Where the rest is. */
  place?: TextPlace;
  plain?: boolean;
}

export function LongText({ value, place, plain }: Props) {
  const [more, setMore] = useState("");
  const [problem, setProblem] = useState("");
  const shown = value.text + more;
  const load = (from: TextPlace) =>
    nextPart(from, shown.length).then(
      (part) => setMore(more + part),
      (error: Error) => setProblem(error.message),
    );
  const missing = value.length - shown.length;
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
        <p class="not-loaded small">
          {count(missing)} more characters are not loaded{" "}
          {place && <Button text="load more" quiet onClick={() => void load(place)} />}
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

/** A question as a title with the answer below it; `none` says why there is no answer. */
export function Asked(props: { question?: CutText; answer?: CutText | null; none: string; title: "h1" | "h2" }) {
  const { question, answer, none, title: Title } = props;
  return (
    <>
      <Title>{question ? <LongText value={question} plain /> : "A run without a question"}</Title>
      <p class="answer">
        <span class="soft">answer</span>{" "}
        {answer ? (
          <strong>
            <LongText value={answer} plain />
          </strong>
        ) : (
          <em>{none}</em>
        )}
      </p>
    </>
  );
}

/** The beginning of a text in one line, whatever it holds. */
export function OneLine({ text, length = 160 }: { text: string; length?: number }) {
  const line = text.replace(/\s+/g, " ").trim();
  return <bdi class="one-line">{line.length > length ? `${line.slice(0, length)}…` : line}</bdi>;
}
