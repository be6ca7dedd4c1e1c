import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { testSize } from "../../../test/fixtures/test-size.ts";
import { openRunIndex } from "../recordings/run-index.ts";
import { readRecordings } from "../recordings.ts";
import { summariseRun } from "../run-summary.ts";
import { startCollector } from "./start-collector.ts";

const root = await mkdtemp(join(tmpdir(), "coa-collector-"));
const limits = { maxBytes: 4 * 2 ** 20, maxUnpackedBytes: 8 * 2 ** 20 };
const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing) await close();
  await rm(root, { recursive: true, force: true });
});
let folders = 0;
async function collector() {
  const folder = join(root, `f${folders++}`);
  const problems: string[] = [];
  const started = await startCollector({ folder, ...limits, onProblem: (text) => problems.push(text) });
  closing.push(started.close);
  return { ...started, folder, problems };
}

const fixture = (name: string) => readFile(join(import.meta.dirname, "../../../test/fixtures/traces", name));
const send = (url: string, body: string | Buffer, headers: Record<string, string> = {}, method = "POST") =>
  fetch(url, {
    method,
    body: body as never,
    headers: { "content-type": "application/json", authorization: "Bearer lsv2_secret_key_of_mine", ...headers },
  });

// biome-ignore lint/suspicious/noExplicitAny: OTLP/JSON as it is
type Loose = any;

/** A protobuf writer of a few lines, to check the reader against. */
const varint = (value: bigint): Buffer => {
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
};
const bytesField = (number: number, value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([varint(BigInt((number << 3) | 2)), varint(BigInt(bytes.length)), bytes]);
};
const intField = (number: number, value: number) => Buffer.concat([varint(BigInt(number << 3)), varint(BigInt(value))]);
const fixedField = (number: number, value: bigint): Buffer => {
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64LE(value);
  return Buffer.concat([varint(BigInt((number << 3) | 1)), eight]);
};
function encode(otlp: Loose): Buffer {
  const any = (value: Record<string, never>): Buffer => {
    const [[kind, inner]] = Object.entries(value) as [[string, never]];
    if (kind === "stringValue") return bytesField(1, inner);
    if (kind === "boolValue") return intField(2, inner ? 1 : 0);
    if (kind === "intValue") return Buffer.concat([varint(3n << 3n), varint(BigInt(inner))]);
    if (kind === "doubleValue") {
      const eight = Buffer.alloc(8);
      eight.writeDoubleLE(Number(inner));
      return Buffer.concat([varint((4n << 3n) | 1n), eight]);
    }
    const { values } = inner as { values: Record<string, never>[] };
    return bytesField(5, Buffer.concat(values.map((one) => bytesField(1, any(one)))));
  };
  const pairs = (number: number, list: Loose[]) =>
    list.map(({ key, value }) => bytesField(number, Buffer.concat([bytesField(1, key), bytesField(2, any(value))])));
  const spanBytes = (span: Loose) =>
    Buffer.concat([
      bytesField(1, Buffer.from(span.traceId, "hex")),
      bytesField(2, Buffer.from(span.spanId, "hex")),
      ...(span.parentSpanId ? [bytesField(4, Buffer.from(span.parentSpanId, "hex"))] : []),
      bytesField(5, span.name),
      fixedField(7, BigInt(span.startTimeUnixNano)),
      fixedField(8, BigInt(span.endTimeUnixNano)),
      ...pairs(9, span.attributes),
      bytesField(15, intField(3, span.status?.code ?? 0)),
    ]);
  const resources = otlp.resourceSpans.map((resource: Loose) =>
    bytesField(
      1,
      Buffer.concat(
        resource.scopeSpans.map((scope: Loose) =>
          bytesField(
            2,
            Buffer.concat([
              bytesField(1, bytesField(1, scope.scope.name)),
              ...scope.spans.map((span: Loose) => bytesField(2, spanBytes(span))),
            ]),
          ),
        ),
      ),
    ),
  );
  return Buffer.concat(resources);
}

describe("collector", () => {
  it("takes OTLP as JSON and as protobuf, plain and packed, to the same run", async () => {
    const json = await fixture("ai-sdk-7.genai.otlp.json");
    const proto = encode(JSON.parse(json.toString()));
    const ways: [Buffer, Record<string, string>][] = [
      [json, {}],
      [gzipSync(json), { "content-encoding": "gzip" }],
      [proto, { "content-type": "application/x-protobuf" }],
      [gzipSync(proto), { "content-type": "application/x-protobuf", "content-encoding": "gzip" }],
      [brotliCompressSync(json), { "content-encoding": "br" }],
      [zstdCompressSync(json), { "content-encoding": "zstd" }],
    ];
    const runs = [];
    for (const [body, headers] of ways) {
      const { url, folder } = await collector();
      assert.equal((await send(`${url}/v1/traces`, body, headers)).status, 200);
      // Exporters send again what they think was lost; it counts once.
      assert.equal((await send(`${url}/v1/traces`, body, headers)).status, 200);
      runs.push(...(await readRecordings(folder)));
    }
    assert.equal(runs.length, ways.length);
    for (const run of runs) assert.deepEqual(run, runs[0]);
    assert.equal(runs[0]?.steps.length, 12);
  });

  it("speaks LangSmith: info, batches and single runs", async () => {
    const parts = await Promise.all(["006", "007", "008"].map((part) => fixture(`langsmith.runs-batch.${part}.json`)));
    const batches = await collector();
    const info = (await (await fetch(`${batches.url}/info`)).json()) as {
      batch_ingest_config: { use_multipart_endpoint: boolean };
    };
    assert.equal(info.batch_ingest_config.use_multipart_endpoint, false);
    for (const part of parts) assert.equal((await send(`${batches.url}/runs/batch`, part)).status, 202);
    const [expected] = await readRecordings(batches.folder);
    assert.equal(summariseRun(expected!).delegations.length, 3);

    const singles = await collector();
    for (const part of parts) {
      const { post, patch } = JSON.parse(part.toString()) as Record<"post" | "patch", Record<string, unknown>[]>;
      for (const run of post) assert.equal((await send(`${singles.url}/runs`, JSON.stringify(run))).status, 202);
      for (const { id, ...run } of patch) {
        assert.equal((await send(`${singles.url}/runs/${id}`, JSON.stringify(run), {}, "PATCH")).status, 202);
      }
    }
    assert.deepEqual(await readRecordings(singles.folder), [expected]);
  });

  it("takes OpenAI's traces, and writes no secret", async () => {
    const { url, folder } = await collector();
    const body = (await fixture("openai-agents.agents-as-tools.ingest.json"))
      .toString()
      .replace("Now compute.", "Use sk-abcdefghijklmnopqrstuv");
    assert.equal((await send(`${url}/v1/traces/ingest`, body)).status, 200);
    const [run] = await readRecordings(folder);
    assert.equal(summariseRun(run!).modelCalls, 12);
    const text = (await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")))).join(
      "",
    );
    assert.doesNotMatch(text, /abcdefghijklmnopqrstuv|lsv2_secret/);
  });

  it("takes no trace from a foreign web page", async () => {
    const { url, folder } = await collector();
    const refused = await send(`${url}/v1/traces`, "{}", { origin: "https://evil.example" });
    assert.equal(refused.status, 403);
    const lines = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    assert.equal(lines.join(""), "");
  });

  it("keeps its memory when many bombs come at once", async () => {
    const { url, problems } = await collector();
    const bombs = testSize(10, 40);
    const bomb = gzipSync(Buffer.alloc(300 * 2 ** 20));
    const before = process.memoryUsage.rss();
    let most = before;
    await Promise.all(
      Array.from({ length: bombs }, async () => {
        const response = await send(`${url}/v1/traces`, bomb, { "content-encoding": "gzip" });
        assert.equal(response.status, 413);
        await response.text();
        most = Math.max(most, process.memoryUsage.rss());
      }),
    );
    // Unpacked they would be 3 GB, or 12.
    assert.ok(most - before < 400 * 2 ** 20, `${Math.round((most - before) / 2 ** 20)} MB more`);
    assert.deepEqual(problems, []);
  });

  it("refuses bombs, cycles, wrong types and nonsense with a reason", async () => {
    const { url, problems, folder } = await collector();
    const span = (spanId: string, parentSpanId: string, attributes: unknown = []) => ({
      spanId,
      parentSpanId,
      traceId: "ab",
      name: "x",
      attributes,
    });
    const otlp = (...spans: unknown[]) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ scope: {}, spans }] }] });
    const deep = JSON.parse(`${'{"arrayValue":{"values":['.repeat(250)}{"stringValue":"x"}${"]}}".repeat(250)}`);
    const cases: [string, string | Buffer, Record<string, string>, number, RegExp][] = [
      ["/v1/traces", gzipSync(Buffer.alloc(200 * 2 ** 20)), { "content-encoding": "gzip" }, 413, /unpacks to more/],
      ["/v1/traces", Buffer.alloc(5 * 2 ** 20, 32), {}, 413, /bytes/],
      ["/v1/traces", "not gzip", { "content-encoding": "gzip" }, 400, /not valid gzip/],
      ["/v1/traces", "{}", { "content-encoding": "rot13" }, 415, /rot13/],
      ["/v1/traces", "{", {}, 400, /not JSON/],
      ["/v1/traces", '{"resourceSpans":7}', {}, 400, /resourceSpans/],
      ["/v1/traces", otlp(7), {}, 400, /not an object/],
      ["/v1/traces", otlp(span("a", "b"), span("b", "a")), {}, 400, /its own ancestor/],
      ["/v1/traces", otlp(span("a", "a")), {}, 400, /its own ancestor/],
      ["/v1/traces", otlp(span("a", "", "text")), {}, 400, /attributes/],
      ["/v1/traces", otlp(span("a", "", [{ key: "k", value: deep }])), {}, 400, /nested/],
      [
        "/v1/traces",
        Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        { "content-type": "application/x-protobuf" },
        400,
        /protobuf/,
      ],
      ["/runs/batch", '{"post":{}}', {}, 400, /not an array/],
      ["/runs/batch", '{"post":[{"id":5}]}', {}, 400, /no id/],
      [
        "/runs/batch",
        '{"post":[{"id":"a","parent_run_id":"b"},{"id":"b","parent_run_id":"a"}]}',
        {},
        400,
        /its own ancestor/,
      ],
      ["/v1/traces/ingest", '{"data":3}', {}, 400, /data/],
      ["/elsewhere", "{}", {}, 404, /nothing is served/],
    ];
    cases.push(["/v1/traces", `${"[".repeat(200_000)}${"]".repeat(200_000)}`, {}, 400, /nested more than/]);
    const nested = `{"post":[{"id":"a","run_type":"tool","inputs":${"[".repeat(100_000)}${"]".repeat(100_000)}}]}`;
    cases.push(["/runs/batch", nested, {}, 400, /nested more than/]);
    for (const [path, body, headers, status, reason] of cases) {
      const response = await send(url + path, body, headers);
      assert.equal(response.status, status, `${path} ${String(body).slice(0, 60)}`);
      assert.match(((await response.json()) as { error: string }).error, reason);
    }
    assert.deepEqual(problems, []);
    assert.deepEqual(await readRecordings(folder), []);
    const bare = { traceId: "ab", spanId: "cd", name: "GET /", startTimeUnixNano: "1", endTimeUnixNano: "2" };
    await send(`${url}/v1/traces`, JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [bare] }] }] }), {});
    const index = await openRunIndex(folder);
    assert.equal(await index.bareTraces(), 1, "a trace without a model call is counted");
    index.close();
  });
});
