/** Server-sent events, both directions: the text of one event, and the data of each event whatever way the bytes were cut. */

import { budgets, jsonExcess } from "../../core/budget.ts";
import { CoaError } from "../../core/errors.ts";

/** One event as text. Data is one line: JSON has no raw line break in it. */
export function eventText(data: string, name?: string): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}

/** A line that clients ignore; it keeps connections through proxies open. */
export const keepAliveText = ": keep-alive\n\n";

/** Takes text piece by piece and gives back the data of every event that is whole; each character is looked at once. */
function eventSplitter(maxLength: number = Number.POSITIVE_INFINITY): {
  push(text: string): string[];
  end(): string[];
} {
  let rest: string[] = []; // of the line that is not whole yet
  let data: string[] = [];
  let held = 0;
  const hold = (length: number) => {
    held += length;
    if (held > maxLength) throw new CoaError("format", `an event has more than ${maxLength} characters`);
  };
  const take = (line: string): string[] => {
    if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
    if (line === "") held = 0;
    if (line !== "" || data.length === 0) return [];
    const event = data.join("\n");
    data = [];
    return [checked(event)];
  };
  const checked = (event: string): string => {
    const excess = jsonExcess(event, budgets.event);
    if (excess) throw new CoaError("format", `an event ${excess}`);
    return event;
  };
  return {
    push(text) {
      // Most servers send one event at a time.
      const alone = held === 0 && data.length === 0 && text.length < maxLength && /^data: ([^\r\n]*)\n\n$/.exec(text);
      if (alone) return [checked(alone[1]!)];
      // A line may end with \r\n, and the two may come apart.
      const given = rest.at(-1) === "\r" ? `${rest.pop()}${text}` : text;
      const lines = given.split(/\r\n|\n|\r(?!$)/);
      const last = lines.pop()!;
      const whole = lines.flatMap((line) => {
        const all = rest.length === 0 ? line : [...rest, line].join("");
        rest = [];
        hold(line.length);
        return take(all);
      });
      const open = last.endsWith("\r") ? [last.slice(0, -1), "\r"] : [last];
      rest.push(...open.filter((part) => part !== ""));
      hold(last.length);
      return whole;
    },
    end: () => [rest.join("").replace(/\r$/, ""), ""].flatMap(take),
  };
}

/** The data of each event of a stream. Written without async functions, because it runs for every token. */
export function serverEvents(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const splitter = eventSplitter(budgets.event.bytes);
  const from = chunks[Symbol.asyncIterator]();
  let ready: string[] = [];
  let ended = false;
  type Next = IteratorResult<string>;
  const close = async (): Promise<Next> => {
    await from.return?.();
    return { done: true, value: undefined };
  };
  const take = ({ done, value }: IteratorResult<Uint8Array>): Next | Promise<Next> => {
    try {
      ended = done === true;
      ready = ended ? splitter.end() : splitter.push(decoder.decode(value, { stream: true }));
    } catch (error) {
      return close().then(() => Promise.reject(error));
    }
    return given() ?? from.next().then(take);
  };
  const given = (): Next | undefined =>
    ready.length > 0 || ended ? { done: ready.length === 0, value: ready.shift()! } : undefined;
  const next = (): Promise<Next> => {
    const known = given();
    return known ? Promise.resolve(known) : from.next().then(take);
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

/** The data of each event of a text that is there as a whole. */
export function eventsOf(text: string): string[] {
  const splitter = eventSplitter();
  return [...splitter.push(text), ...splitter.end()];
}
