/**
 * A chain in the terminal while it happens: every role under its own name and colour, tools with what they were asked and
 * what they returned, and a last line that says how it ended and what it cost.
 */
import type { ChainEvent } from "../core/events.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { duration, type Output } from "./output.ts";

type Style = Parameters<Output["style"]>[0];

const roleStyles: Record<string, Style> = {
  think: "gray",
  plan: "cyan",
  reflection: "magenta",
  suggested_answer: "yellow",
  double_check: "magenta",
  answer: "green",
  observation: "blue",
  text: "red",
};
const toolStyle: Style = "yellowBright";
const labelWidth = 18;
const observationLines = 8;

/** Makes a listener that draws the chain; `live`: text appears while it is written, otherwise segments when they end. */
export function renderChain({
  style,
  write,
  live,
}: Pick<Output, "style" | "write"> & { live: boolean }): (event: ChainEvent) => void {
  const indent = `\n${" ".repeat(labelWidth)}`;
  let column = 0; // characters of the body written on its first line; 0: nothing yet
  const label = (tag: string) => style(roleStyles[tag] ?? toolStyle, tag.padEnd(labelWidth));
  const body = (text: string) => {
    const shown = column === 0 ? text.trimStart() : text;
    column += shown.length;
    write(shown.replaceAll("\n", indent));
  };
  return (event) => {
    switch (event.type) {
      case "segment-start":
        column = 0;
        if (live && event.by === "model") write(label(event.tag));
        break;
      case "segment-delta":
        if (live) body(event.text);
        break;
      case "segment-end": {
        const { tag, text, by, call } = event.segment;
        if (by === "model") {
          write(live ? "\n" : `${label(tag)}${text.trim().replaceAll("\n", indent)}\n`);
          break;
        }
        const time = call
          ? ` ${style("gray", `(${call.ms < 1000 ? `${call.ms.toFixed(0)} ms` : duration(call.ms)}${call.repeated ? ", repeated" : ""})`)}`
          : "";
        write(
          `${label(tag)}${style(by === "runtime" ? "red" : "dim", shorten(text).replaceAll("\n", indent))}${time}\n`,
        );
        break;
      }
      case "format-error":
        write(`${style("red", "format".padEnd(labelWidth))}${event.rule}: ${event.message}\n`);
        break;
      case "compaction":
        write(
          `${style("gray", "context".padEnd(labelWidth))}${event.segments.length} old observations shortened: ${event.tokensBefore} to ${event.tokensAfter} tokens\n`,
        );
        break;
      default:
        break;
    }
  };
}

function shorten(text: string): string {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => (line.length > 300 ? `${line.slice(0, 300)}…` : line));
  if (lines.length <= observationLines) return lines.join("\n");
  return [...lines.slice(0, observationLines - 1), `… ${lines.length - observationLines + 1} more lines`].join("\n");
}

/** A chain that has ended, with its summary. */
export function chainText(trajectory: Trajectory, style: Output["style"]): string {
  const lines: string[] = [];
  const draw = renderChain({ style, live: false, write: (text) => lines.push(text.trimEnd()) });
  for (const [index, segment] of trajectory.segments.entries())
    draw({ type: "segment-end", index, segment } as ChainEvent);
  return [...lines, chainSummary(trajectory)].join("\n");
}

/** One line: how the chain ended and what it took. */
export function chainSummary({ ending, usage, violations }: Trajectory): string {
  const count = (value: number, what: string) => `${value.toLocaleString("en-US")} ${what}${value === 1 ? "" : "s"}`;
  return [
    ending.detail ? `${ending.reason} (${ending.detail})` : ending.reason,
    count(usage.modelCalls, "model call"),
    count(usage.toolCalls, "tool call"),
    `${count(usage.billedTokens, "token")} billed, ${usage.computedTokens.toLocaleString("en-US")} computed`,
    ...(usage.costUsd > 0 ? [`$${usage.costUsd.toFixed(4)}`] : []),
    usage.wallMs < 1000 ? `${usage.wallMs.toFixed(0)} ms` : duration(usage.wallMs),
    ...(violations.length > 0
      ? [
          `${count(violations.length, "rule")} broken (${[...new Set(violations.map((violation) => violation.rule))].join(", ")})`,
        ]
      : []),
  ].join(" · ");
}
