/** Server-sent events, both directions: the text of one event, and the data of each event whatever way the bytes were cut. */

/** One event as text. Data is one line: JSON has no raw line break in it. */
export function eventText(data: string, name?: string): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}

/** A line that clients ignore; it keeps connections through proxies open. */
export const keepAliveText = ": keep-alive\n\n";

/** Takes text piece by piece and gives back the data of every event that is whole. */
function eventSplitter(): { push(text: string): string[]; end(): string[] } {
  let rest = "";
  let data: string[] = [];
  const take = (line: string): string[] => {
    if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
    if (line !== "" || data.length === 0) return [];
    const event = data.join("\n");
    data = [];
    return [event];
  };
  return {
    push(text) {
      const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop()!;
      return lines.flatMap(take);
    },
    end: () => [rest.replace(/\r$/, ""), ""].flatMap(take),
  };
}

/** Yields the data of each event of a stream. */
export async function* serverEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const splitter = eventSplitter();
  for await (const chunk of chunks) yield* splitter.push(decoder.decode(chunk, { stream: true }));
  yield* splitter.end();
}

/** The data of each event of a text that is there as a whole. */
export function eventsOf(text: string): string[] {
  const splitter = eventSplitter();
  return [...splitter.push(text), ...splitter.end()];
}
