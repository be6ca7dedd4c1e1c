/**
 * What every model must do, whoever wrote it and however it is wrapped. `make` is given the texts that the model's source
 * (a server, an engine, a script) will write, call by call; each case then asks the model as the chain runtime does. A
 * case has a name and a function that throws, so that any test runner can run it:
 * `for (const { name, run } of modelConformance(make)) it(name, run);`
 */
import assert from "node:assert/strict";
import type { ChatModel, ContinueEvent, ContinueRequest, Model } from "../core/model.ts";

/** The model under test, and what to close after it. */
export interface ModelUnderTest {
  model: Model & Partial<ChatModel>;
  close?(): Promise<void>;
}

/** Makes a model whose source writes these texts, one for each call. */
export type MakeModel = (texts: readonly string[]) => ModelUnderTest | Promise<ModelUnderTest>;

export interface ConformanceCase {
  name: string;
  run(): Promise<void>;
}

const prompt = [
  { role: "system" as const, content: "Play a chain." },
  { role: "user" as const, content: "Where does Ada live?" },
];

type End = Extract<ContinueEvent, { type: "end" }>;

interface Heard {
  text: string;
  tokens: number[];
  logprobs: number[];
  end: End;
}

/** The cases, to be run one by one or together. */
export function modelConformance(make: MakeModel): ConformanceCase[] {
  const withModel = async (texts: readonly string[], work: (model: ModelUnderTest["model"]) => Promise<void>) => {
    const { model, close } = await make(texts);
    try {
      await model.prepare?.();
      await work(model);
    } finally {
      await model.close?.();
      await close?.();
    }
  };
  return [
    {
      name: "has a name and says what it can do, before and after prepare",
      run: () =>
        withModel([""], async (model) => {
          assert.ok(model.name.length > 0, "name is empty");
          await model.prepare?.();
          const { tokens, grammar, contextWindow } = model.capabilities;
          assert.equal(typeof tokens, "boolean");
          assert.ok(["none", "server", "masks"].includes(grammar), `grammar is ${grammar}`);
          assert.ok(contextWindow === undefined || contextWindow > 0, `contextWindow is ${contextWindow}`);
          if (tokens) assert.ok(model.tokenizer, "a model that returns tokens has its tokenizer");
        }),
    },
    {
      name: "writes the text in pieces that join to it, and ends exactly once, last",
      run: () =>
        withModel(["<think>näher 😀 hin</think> and so on"], async (model) => {
          const heard = await ask(model, { stop: ["</nothing>"] });
          assert.equal(heard.text, "<think>näher 😀 hin</think> and so on");
          assert.equal(heard.end.finish, "end");
          const { promptTokens, completionTokens, cachedTokens = 0 } = heard.end.usage;
          assert.ok(promptTokens > 0 && completionTokens > 0, `usage is ${JSON.stringify(heard.end.usage)}`);
          assert.ok(cachedTokens >= 0 && cachedTokens <= promptTokens, "more is cached than was asked");
        }),
    },
    {
      name: "stops at a stop string and keeps it in the text",
      run: () =>
        withModel(["<think>look</think><wiki_search>Ada</wiki_search>"], async (model) => {
          const { text, end } = await ask(model, { stop: ["</think>"] });
          assert.equal(text, "<think>look</think>");
          assert.equal(end.finish, "stop");
        }),
    },
    {
      name: "writes no more than it may, and says that it was cut",
      run: () =>
        withModel(["one two three four five six seven eight nine ten"], async (model) => {
          const { text, end } = await ask(model, { maxTokens: 3 });
          assert.ok("one two three four five six seven eight nine ten".startsWith(text) && text.length < 40, text);
          assert.equal(end.finish, "length");
          assert.ok(end.usage.completionTokens <= 3, `${end.usage.completionTokens} tokens`);
        }),
    },
    {
      name: "continues after what is there already",
      run: () =>
        withModel(["</answer>"], async (model) => {
          const { text } = await ask(model, { text: "<think>t</think><answer>Lyon", stop: ["</answer>"] });
          assert.equal(text, "</answer>");
        }),
    },
    {
      name: "returns the ids and log-probabilities of what it wrote, where it says that it can",
      run: () =>
        withModel(["<think>näher 😀</think>"], async (model) => {
          const heard = await ask(model, {});
          if (!model.capabilities.tokens) return;
          assert.equal(model.tokenizer!.decode(heard.tokens), heard.text);
          assert.equal(heard.logprobs.length, heard.tokens.length);
          assert.ok(heard.logprobs.every((value) => value <= 0));
          assert.equal(heard.end.usage.completionTokens, heard.tokens.length);
        }),
    },
    {
      name: "keeps calls that run at the same time apart, and leaves their requests as they were",
      run: () =>
        withModel(["first", "second", "third"], async (model) => {
          const request = Object.freeze({ ...base(model), prompt: Object.freeze(prompt) });
          const before = JSON.stringify(request);
          const heard = await Promise.all([0, 1, 2].map((key) => listen(model, { ...request, sessionKey: `s${key}` })));
          assert.deepEqual(heard.map(({ text }) => text).sort(), ["first", "second", "third"]);
          assert.equal(JSON.stringify(request), before);
        }),
    },
    {
      name: "stops when its signal aborts, and is usable afterwards",
      run: () =>
        withModel(["never heard", "heard", "heard"], async (model) => {
          const reason = new DOMException("enough", "AbortError");
          await assert.rejects(ask(model, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
          assert.match((await ask(model, {})).text, /heard/);
        }),
    },
    {
      name: "counts and encodes text consistently, where it can",
      run: () =>
        withModel([""], async (model) => {
          const count = model.countTokens?.("a longer text") ?? 1;
          assert.ok(count > 0 && count >= (model.countTokens?.("a") ?? 1));
          if (!model.encodeText || !model.tokenizer) return;
          assert.equal(model.tokenizer.decode(model.encodeText("plain <text> 😀")), "plain <text> 😀");
          const specials = [...model.tokenizer.specialTokens.keys()].join("");
          const ids = new Set(model.tokenizer.specialTokens.values());
          assert.ok(!model.encodeText(specials).some((id) => ids.has(id)), "plain text became special tokens");
          assert.ok((model.encodePrompt?.(prompt) ?? [1]).length > 0);
        }),
    },
    {
      name: "forgets sessions, also unknown ones, and closes more than once",
      run: () =>
        withModel(["text"], async (model) => {
          await ask(model, { sessionKey: "known" });
          model.endSession?.("known");
          model.endSession?.("unknown");
          await model.close?.();
        }),
    },
    {
      name: "chats, where it can: text, usage, an end, and the same words to a listener",
      run: () =>
        withModel(["Hello there.", "Hello there."], async (model) => {
          if (!model.chat) return;
          const reply = await model.chat({ messages: prompt });
          assert.equal(reply.text, "Hello there.");
          assert.deepEqual(reply.toolCalls, []);
          assert.equal(reply.finish, "stop");
          assert.ok(reply.usage.completionTokens > 0);
          let heard = "";
          const again = await model.chat({ messages: prompt, seed: 2, onDelta: (text) => (heard += text) });
          assert.equal(heard, again.text);
        }),
    },
  ];
}

function base(model: Model): ContinueRequest {
  const tokens = model.capabilities.tokens ? model.encodePrompt?.(prompt) : undefined;
  return { prompt, text: "", ...(tokens && { tokens }), stop: ["</never>"], maxTokens: 200, temperature: 0 };
}

function ask(model: Model, change: Partial<ContinueRequest>): Promise<Heard> {
  const request = { ...base(model), ...change };
  if (request.tokens && change.text) {
    request.tokens = [...request.tokens, ...model.tokenizer!.encodeWithSpecials(change.text)];
  }
  return listen(model, request);
}

async function listen(model: Model, request: ContinueRequest): Promise<Heard> {
  const heard = { text: "", tokens: [] as number[], logprobs: [] as number[] };
  let end: End | undefined;
  for await (const event of model.continue(request)) {
    assert.equal(end, undefined, "something comes after the end");
    if (event.type === "end") end = event;
    else {
      heard.text += event.text;
      heard.tokens.push(...(event.tokens ?? []));
      heard.logprobs.push(...(event.logprobs ?? []));
    }
  }
  assert.ok(end, "the stream has no end");
  return { ...heard, end };
}
