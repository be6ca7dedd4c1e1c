/** The demo page: asks the worker, and draws the chain as it is written, token by token, with the loss mask. */
import type { ChainEvent } from "../../src/core/events.ts";
import type { Segment, Trajectory } from "../../src/core/trajectory.ts";
import type { FromDemo, ToDemo } from "./demo-messages.ts";

const element = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind;
const [world, number, question] = ["world", "number", "question"].map((id) => element<HTMLInputElement>(id)) as [
  HTMLInputElement,
  HTMLInputElement,
  HTMLInputElement,
];
const go = element<HTMLButtonElement>("go");
const chain = element("chain");
const status = element("status");
const worker = new Worker("demo-worker.js");
let rows: HTMLElement[] = [];
let right: readonly string[] = [];
let started = 0;
let first = 0;

function row(name: string, kind: string): HTMLElement {
  const item = document.createElement("li");
  item.className = kind;
  const tag = document.createElement("b");
  tag.textContent = name;
  const text = document.createElement("span");
  text.className = "text";
  item.append(tag, " ", text);
  chain.append(item);
  return text;
}

/** One box for each token; the less probable it was, the darker. */
function drawTokens(place: HTMLElement, pieces: readonly string[], logprobs?: readonly number[]): void {
  place.replaceChildren(
    ...pieces.map((piece, index) => {
      const box = document.createElement("i");
      box.textContent = piece;
      const logprob = logprobs?.[index];
      if (logprob === undefined) return box;
      box.title = `probability ${(100 * Math.exp(logprob)).toFixed(1)} %`;
      box.className = `sure-${Math.min(3, Math.floor(-logprob * 4))}`;
      return box;
    }),
  );
}

function onEvent(event: ChainEvent, pieces: readonly string[] = []): void {
  if (event.type === "segment-start") rows[event.index] = row(event.tag, event.by === "model" ? "own" : "read");
  else if (event.type === "segment-delta") {
    first ||= performance.now();
    rows[event.index]?.append(event.text);
  } else if (event.type === "segment-end") {
    const { segment, index } = event;
    drawTokens((rows[index] ??= row(segment.tag, segment.by === "model" ? "own" : "read")), pieces, segment.logprobs);
  } else if (event.type === "chain-end") finish(event.trajectory);
}

function finish(trajectory: Trajectory): void {
  const { answer, segments } = trajectory;
  const tokens = (by: (segment: Segment) => boolean) =>
    segments.filter(by).reduce((sum, one) => sum + (one.tokens?.length ?? 0), 0);
  const [own, read] = [tokens(({ by }) => by === "model"), tokens(({ by }) => by !== "model")];
  const verdict =
    right.length === 0
      ? ""
      : right.includes(answer ?? "")
        ? " That is right."
        : ` Right would be: ${right.join(" or ")}.`;
  element("result").textContent =
    `Answer: ${answer ?? "none"}.${verdict} ${own} tokens written and learned from, ${read} read from tools; ${Math.round(performance.now() - started)} ms, the first token after ${Math.round(first - started)} ms.`;
  // For programs that drive this page.
  chain.dataset["trajectory"] = JSON.stringify({ answer, texts: segments.map(({ tag, text }) => [tag, text]) });
  go.disabled = false;
}

worker.addEventListener("message", ({ data }: MessageEvent<FromDemo>) => {
  if (data.type === "event") onEvent(data.event, data.pieces);
  else if (data.type === "question") {
    right = data.answers;
    element("asked").textContent = data.question;
    drawTokens(row("question", "read"), data.prompt);
  } else if (data.type === "ready") {
    status.textContent = `Ready: ${data.megabytes.toFixed(1)} MB loaded.`;
    go.disabled = false;
  } else {
    status.textContent = `It failed: ${data.message}`;
    go.disabled = false;
  }
});

element("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  go.disabled = true;
  chain.replaceChildren();
  delete chain.dataset["trajectory"];
  rows = [];
  element("result").textContent = "";
  [started, first] = [performance.now(), 0];
  const asked = question.value.trim();
  element("command").textContent = `npx chain-of-agents ask ${asked ? `"${asked}" ` : ""}--lab ${world.value}`;
  worker.postMessage({
    world: world.valueAsNumber,
    number: number.valueAsNumber,
    ...(asked && { question: asked }),
  } satisfies ToDemo);
});
