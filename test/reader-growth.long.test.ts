/** Every reader of what others wrote takes time in proportion to how much there is of it: records, messages, spans, tensors, lines. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readJsonl } from "../src/base/files/read-jsonl.ts";
import { readTar, writeTar } from "../src/base/files/tar.ts";
import { eventsOf } from "../src/base/http/server-events.ts";
import { redactSecrets } from "../src/base/redact/redact.ts";
import { wireApis } from "../src/base/wire/apis.ts";
import { protoWriter } from "../src/base/wire/protobuf.ts";
import { writeEvents } from "../src/base/wire/reply-writer.ts";
import { frameEvent, noReply } from "../src/base/wire/wire-api.ts";
import type { Trajectory } from "../src/core/trajectory.ts";
import { trajectorySchema } from "../src/core/trajectory-schema.ts";
import { emptyUsage } from "../src/core/usage.ts";
import { exportDataset } from "../src/dataset/export/export-dataset.ts";
import { readGguf, writeGguf } from "../src/engines/embedded/files/gguf-format.ts";
import { readSafetensors, writeSafetensors } from "../src/engines/embedded/files/safetensors.ts";
import { webProfile } from "../src/language/profiles.ts";
import { validateSegments } from "../src/language/validate.ts";
import { callsToRuns } from "../src/record/calls-to-runs.ts";
import { decodeOtlp, decodeOtlpLogs } from "../src/record/collector/otlp-protobuf.ts";
import { importFiles } from "../src/record/import-file.ts";
import { readAnswer } from "../src/record/read-answer.ts";
import { redactResponse } from "../src/record/redact-response.ts";
import { chainView } from "../src/studio/api/chain-view.ts";
import { alignMoves } from "../src/studio/api/compare-reader.ts";
import { tokenizerFromJson } from "../src/tokenizers/load-tokenizer.ts";
import { grows } from "./fixtures/grows.ts";
import { writeRequest } from "./fixtures/wire-requests.ts";

const folder = mkdtempSync(join(tmpdir(), "coa-growth-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const list = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

describe("recordings", () => {
  const traces = join(import.meta.dirname, "fixtures/traces");
  /** The text with other ids, so that copies are other runs; times have no letters. */
  const renamed = (text: string, copy: number) =>
    text.replace(/(?<![\w-])(?=[\d-]*[a-f])([0-9a-f]{4})([0-9a-f-]{8,})(?![\w-])/g, (_, head: string, rest: string) => {
      const other = (Number.parseInt(head, 16) ^ (copy + 1)).toString(16).padStart(4, "0");
      return other + rest;
    });
  for (const name of readdirSync(traces)) {
    it(`are imported in time that grows with their number: ${name}`, async () => {
      const text = readFileSync(join(traces, name), "utf8");
      await grows(
        name,
        (count) => {
          const files = list(count, (copy) => {
            const file = join(folder, `${copy}-${name}`);
            writeFileSync(file, renamed(text, copy));
            return file;
          });
          return importFiles(files);
        },
        6,
      );
    });
  }

  for (const api of wireApis) {
    it(`are read in time that grows with their messages and events: ${api.name}`, async () => {
      const messages = (count: number) =>
        list(count, (at) => ({ role: at % 2 ? ("assistant" as const) : ("user" as const), content: `turn ${at}` }));
      await grows(
        "messages",
        (count) => {
          const { body, path } = writeRequest(api, { model: "m", messages: messages(count), tools: [], stream: false });
          return api.readRequest(redactSecrets(body) as typeof body, path);
        },
        2000,
      );
      const text = (count: number) => "a word of an answer ".repeat(count);
      const stream = (count: number) => {
        const reply = { ...noReply(), text: text(count), toolCalls: list(Math.ceil(count / 50), (at) => ({ id: `c${at}`, name: "look", arguments: `{"at":${at}}` })), finished: true };
        return [...writeEvents(api, reply)].map((event) => frameEvent(api, event)).join("");
      }; // biome-ignore format: one reply
      await grows(
        "events",
        (count) => {
          const body = stream(count);
          return [readAnswer(api, body, "text/event-stream"), redactResponse(api, body, "text/event-stream", [])];
        },
        1000,
      );
    });
  }

  it("are put together in time that grows with texts that repeat themselves", async () => {
    const call = (id: string, content: string) => ({
      ...{ id, startedAt: 0, endedAt: 0, messages: [{ role: "user" as const, content }], tools: [], toolCalls: [] },
      ...{ text: content, promptTokens: 1, completionTokens: 1, outcome: "complete" as const },
    });
    for (const piece of ["word ", "so? ", "\n", "thought:\n", "<tool "])
      await grows(piece, (count) => callsToRuns([call("a", piece.repeat(count)), call("b", "x")], "wire"), 10_000);
  });

  it("come as spans and logs of OTLP in time that grows with them", async () => {
    const message = (fill: (writer: ReturnType<typeof protoWriter>) => void) => {
      const writer = protoWriter();
      fill(writer);
      return writer.finish();
    };
    // The id of a trace, as a span and as a log record has it.
    const scope = (field: number) =>
      message((to) =>
        to.bytes(
          2,
          message((one) => one.bytes(field, Buffer.alloc(16, 7))),
        ),
      );
    const resource = (field: number) => message((to) => to.bytes(2, scope(field)));
    const body = (count: number, field: number) => message((to) => list(count, () => to.bytes(1, resource(field))));
    await grows("spans", (count) => decodeOtlp(body(count, 1)), 5000);
    await grows("logs", (count) => decodeOtlpLogs(body(count, 9)), 5000);
  });
});

describe("chains and datasets", () => {
  const chain = (count: number): Trajectory => ({
    version: 1,
    id: "t",
    taskId: "q",
    profile: "web",
    model: "m",
    prompt: [{ role: "user", content: "When?" }],
    segments: list(count, (at) => ({ tag: at % 2 ? "observation" : "web_search", by: at % 2 ? ("tool" as const) : ("model" as const), text: `step ${at}` })),
    answer: "1815",
    ending: { reason: "answered" },
    usage: emptyUsage(),
    violations: [],
  }); // biome-ignore format: one chain

  it("are read, validated, shown and exported in time that grows with their segments and rows", async () => {
    await grows("reading", (count) => trajectorySchema.parse(JSON.parse(JSON.stringify(chain(count)))), 2000);
    await grows("validating", (count) => validateSegments(webProfile, chain(count).segments), 1000);
    await grows("showing", (count) => chainView(chain(count)), 2000);
    await grows(
      "aligning",
      (count) => alignMoves([list(count, (at) => `a${at % 7}`), list(count, (at) => `a${at % 5}`)]),
      100,
    );
    for (const format of ["chat", "llama-factory"] as const)
      await grows(format, (count) => exportDataset(list(count, (at) => ({ ...chain(6), id: `t${at}` })), { format, folder, name: `${format}-${count}` }), 300); // biome-ignore format: one call
  });

  it("come as lines, events and archives in time that grows with them", async () => {
    await grows(
      "lines",
      (count) => {
        const file = join(folder, `lines-${count}.jsonl`);
        writeFileSync(file, list(count, (at) => `{"version":1,"id":"${at}"}\n`).join(""));
        return Array.fromAsync(readJsonl(file));
      },
      20_000,
    );
    await grows("events", (count) => eventsOf(list(count, (at) => `data: {"n":${at}}\n\n`).join("")), 20_000);
    await grows(
      "files of an archive",
      (count) => readTar(writeTar(Object.fromEntries(list(count, (at) => [`f${at}`, Buffer.from("x")])))),
      1000,
    );
  });
});

describe("model files", () => {
  it("are read in time that grows with their tensors, entries and vocabulary", async () => {
    const tensor = { shape: [2, 4], data: new Float32Array(8) };
    await grows(
      "safetensors",
      async (count) => {
        const file = join(folder, `s-${count}`);
        await writeSafetensors(file, new Map(list(count, (at) => [`t${at}`, tensor])) as never);
        return readSafetensors(file);
      },
      500,
    );
    await grows(
      "GGUF",
      async (count) => {
        const file = join(folder, `g-${count}`);
        const entries = new Map(list(count, (at) => [`general.k${at}`, { type: "string", value: "v" }]));
        await writeGguf(
          file,
          entries as never,
          new Map(list(count, (at) => [`t${at}`, { ...tensor, type: "f32" }])) as never,
        );
        return readGguf(file);
      },
      500,
    );
    await grows(
      "a tokenizer",
      (count) => {
        const words = list(count, (at) => `w${at}`);
        const tokenizer = tokenizerFromJson({
          added_tokens: list(Math.ceil(count / 10), (at) => ({ id: count + at, content: `<|s${at}|>` })),
          pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
          decoder: { type: "ByteLevel" },
          normalizer: null,
          post_processor: null,
          model: { type: "BPE", vocab: Object.fromEntries(words.map((word, at) => [word, at])), merges: [] },
        });
        return tokenizer.decode(list(count, (at) => at));
      },
      2000,
    );
  });
});
