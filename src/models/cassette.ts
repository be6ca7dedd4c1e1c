/**
 * Cassettes: model traffic recorded once and replayed for ever, so that tests and demos need no server and no key.
 * A recording is found by what was asked, nothing else. A request that was never recorded fails loudly and shows the
 * nearest one and where the two part, because a silent miss would be a network call or a lie.
 */
import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CoaError } from "../core/errors.ts";
import type { ChatModel, ChatReply, ChatRequest, ContinueEvent, ContinueRequest, Model } from "../core/model.ts";

export interface CassetteOptions {
  file: string;
  /** `record`: ask the model and write down. `replay`: never ask. `auto`: replay what is there, record the rest. */
  mode: "record" | "replay" | "auto";
  /** Needed to record. */
  model?: Model & Partial<ChatModel>;
}

interface Recording {
  version: 1;
  key: string;
  kind: "continue" | "chat";
  model: string;
  request: unknown;
  events?: ContinueEvent[];
  reply?: ChatReply;
}

/** A model that replays a cassette, recording first where it may. */
export function cassette(options: CassetteOptions): Model & ChatModel {
  const { file, mode, model } = options;
  if (mode !== "replay" && !model)
    throw new CoaError("usage", `cassette ${file}: mode ${mode} needs a model to record from`);
  let tape: Promise<{ recordings: Map<string, Recording[]>; played: Map<string, number> }> | undefined;
  const name = () => model?.name ?? "cassette";

  async function load(): Promise<Awaited<NonNullable<typeof tape>>> {
    const recordings = new Map<string, Recording[]>();
    const text = mode === "record" ? "" : await readFile(file, "utf8").catch(() => "");
    for (const [index, line] of text.split("\n").entries()) {
      if (line.trim() === "") continue;
      const recording = parseLine(file, index + 1, line);
      recordings.set(recording.key, [...(recordings.get(recording.key) ?? []), recording]);
    }
    return { recordings, played: new Map() };
  }

  /** The next recording of this request: the same request asked again gets the next answer that was recorded for it. */
  async function find(kind: Recording["kind"], request: unknown, key: string): Promise<Recording | undefined> {
    tape ??= load();
    const { recordings, played } = await tape;
    const times = played.get(key) ?? 0;
    const found = recordings.get(key)?.[times];
    if (found) played.set(key, times + 1);
    else if (mode === "replay") throw missing(file, kind, request, times, [...recordings.values()].flat());
    return found;
  }

  async function save(recording: Omit<Recording, "version" | "model">): Promise<void> {
    await mkdir(dirname(file), { recursive: true });
    await appendFile(file, `${JSON.stringify({ version: 1, model: name(), ...recording })}\n`);
  }

  return {
    get name() {
      return name();
    },
    get capabilities() {
      return model?.capabilities ?? { tokens: false, grammar: "none" as const };
    },
    prepare: async (signal) => model?.prepare?.(signal),
    tokenizer: model?.tokenizer,
    countTokens: model?.countTokens?.bind(model),
    encodeText: model?.encodeText?.bind(model),
    encodePrompt: model?.encodePrompt?.bind(model),
    async *continue(request) {
      const asked = continueFields(request);
      const key = keyOf("continue", asked);
      const found = await find("continue", asked, key);
      if (found) {
        yield* found.events ?? [];
        return;
      }
      const events: ContinueEvent[] = [];
      for await (const event of model!.continue(request)) {
        events.push(event);
        yield event;
      }
      await save({ key, kind: "continue", request: asked, events });
    },
    async chat(request) {
      const asked = chatFields(request);
      const key = keyOf("chat", asked);
      const found = await find("chat", asked, key);
      if (found?.reply) {
        request.onDelta?.(found.reply.text);
        return found.reply;
      }
      if (!model?.chat) throw new CoaError("model", `${name()} cannot chat, so nothing can be recorded`);
      const reply = await model.chat(request);
      await save({ key, kind: "chat", request: asked, reply });
      return reply;
    },
    close: async () => model?.close?.(),
  };
}

/** What makes two requests the same. Who asks (session) and how it is stopped do not. */
function continueFields({
  prompt,
  text,
  tokens,
  stop,
  maxTokens,
  temperature,
  topP,
  topK,
  seed,
  grammar,
}: ContinueRequest): unknown {
  return { prompt, text, tokens, stop, maxTokens, temperature, topP, topK, seed, grammar };
}

function chatFields({ messages, tools, maxTokens, temperature, seed, json }: ChatRequest): unknown {
  return { messages, tools, maxTokens, temperature, seed, json };
}

function keyOf(kind: string, request: unknown): string {
  return createHash("sha256")
    .update(`${kind} ${JSON.stringify(request)}`)
    .digest("hex")
    .slice(0, 32);
}

function parseLine(file: string, line: number, text: string): Recording {
  try {
    const recording = JSON.parse(text) as Recording;
    if (recording.version === 1 && typeof recording.key === "string") return recording;
  } catch {
    // Falls through to the error below.
  }
  throw new CoaError("storage", `${file}:${line} is not a cassette recording of version 1; record the cassette again`);
}

function missing(
  file: string,
  kind: string,
  request: unknown,
  times: number,
  recordings: readonly Recording[],
): CoaError {
  const asked = JSON.stringify(request);
  let nearest = "";
  let common = -1;
  for (const recording of recordings) {
    if (recording.kind !== kind) continue;
    const text = JSON.stringify(recording.request);
    let same = 0;
    while (same < text.length && same < asked.length && text[same] === asked[same]) same++;
    if (same > common) [nearest, common] = [text, same];
  }
  const excerpt = (text: string) => text.slice(Math.max(0, common - 30), common + 60);
  const detail =
    times > 0
      ? `it was recorded ${times} time(s) and is asked once more`
      : common < 0
        ? "the cassette holds no such requests at all"
        : `the nearest recorded request is the same up to character ${common}:\n  recorded: …${excerpt(nearest)}…\n  asked:    …${excerpt(asked)}…`;
  return new CoaError(
    "model",
    `${file} has no recording of this ${kind} request; ${detail}\nRecord it with mode "auto" or "record".`,
  );
}
