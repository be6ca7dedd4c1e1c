/** Server-sent events: the data of each event, whatever way the bytes were cut. */

/** Yields the data of each event of a stream. */
export async function* serverEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  let data: string[] = [];
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield data.join("\n");
        data = [];
      } else if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
    }
  }
  if (rest.startsWith("data:")) data.push(rest.slice(rest.startsWith("data: ") ? 6 : 5));
  if (data.length > 0) yield data.join("\n");
}
