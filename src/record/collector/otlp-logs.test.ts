import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readRecordings } from "../recordings.ts";
import { refusedForTraining } from "../trainable.ts";
import { startCollector } from "./start-collector.ts";

const root = await mkdtemp(join(tmpdir(), "coa-logs-"));
const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing) await close();
  await rm(root, { recursive: true, force: true });
});
async function collector(name: string) {
  const folder = join(root, name);
  const problems: string[] = [];
  const started = await startCollector({ folder, onProblem: (text) => problems.push(text) });
  closing.push(started.close);
  return { ...started, folder, problems };
}
const send = async (url: string, body: unknown, type = "application/json") => {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const { status } = await fetch(url, {
    method: "POST",
    body: new Uint8Array(bytes),
    headers: { "content-type": type },
  });
  assert.equal(status, 200);
};

const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
const text = (stringValue: string) => ({ stringValue });
const attributes = [{ key: "gen_ai.operation.name", value: text("chat") }];
const span = { traceId, spanId, name: "chat m", startTimeUnixNano: "1000000", endTimeUnixNano: "9000000", attributes };
const traces = { resourceSpans: [{ scopeSpans: [{ scope: { name: "s" }, spans: [span] }] }] };
const log = (eventName: string, at: number, fields: Record<string, unknown>, more = {}) => {
  const values = Object.entries(fields).map(([key, value]) => ({ key, value }));
  return { traceId, spanId, timeUnixNano: String(at * 1e6), eventName, body: { kvlistValue: { values } }, ...more };
};
const logs = (...logRecords: unknown[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
const reply = { kvlistValue: { values: [{ key: "content", value: text("Blue.") }] } };

describe("OTLP logs", () => {
  it("joins messages that come as logs with their span, in any order and sent twice", async () => {
    const { url, folder } = await collector("events");
    const sent = logs(
      log("gen_ai.choice", 3, { message: reply }),
      log("gen_ai.user.message", 2, { content: text("Which colour?") }),
    );
    await send(`${url}/v1/logs`, sent);
    await send(`${url}/v1/traces`, traces);
    await send(`${url}/v1/logs`, sent);
    const [run, ...others] = await readRecordings(folder);
    assert.equal(others.length, 0);
    assert.deepEqual([run?.question, run?.answer], ["Which colour?", "Blue."]);
    assert.deepEqual(Object.values(run!.messages).length, 1);
    assert.equal(refusedForTraining(run!), null);
  });

  it("reads content that is spread over several details events, and logs in protobuf", async () => {
    const { url, folder } = await collector("details");
    const message = (role: string, content: string) => JSON.stringify([{ role, parts: [{ type: "text", content }] }]);
    const field = (number: number, value: Buffer | string) => {
      const bytes = Buffer.from(value as string);
      const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
      return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
    };
    const record = (key: string, value: string) => {
      const pair = Buffer.concat([field(1, key), field(2, field(1, value))]);
      const ids = [field(9, Buffer.from(traceId!, "hex")), field(10, Buffer.from(spanId!, "hex"))];
      return field(2, Buffer.concat([field(6, pair), ...ids, field(12, "gen_ai.client.inference.operation.details")]));
    };
    const records = [
      record("gen_ai.input.messages", message("user", "Which colour?")),
      record("gen_ai.output.messages", message("assistant", "Blue.")),
    ];
    await send(`${url}/v1/traces`, traces);
    await send(`${url}/v1/logs`, field(1, field(2, Buffer.concat(records))), "application/x-protobuf");
    const [run] = await readRecordings(folder);
    assert.deepEqual([run?.question, run?.answer], ["Which colour?", "Blue."]);
  });

  it("keeps nothing of a program's other logs", async () => {
    const { url, folder } = await collector("others");
    await send(`${url}/v1/logs`, logs({ traceId, spanId, body: text("password reset for ann") }));
    const written = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    assert.doesNotMatch(written.join(""), /ann/);
  });

  it("tells a gRPC client's owner what to set, once", async () => {
    const { url, problems } = await collector("grpc");
    for (let time = 0; time < 2; time++) {
      const client = connect(url);
      client.on("error", () => {});
      const request = client.request({
        ":method": "POST",
        ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
      });
      request.on("error", () => {});
      request.end();
      await new Promise<void>((resolve) => client.once("close", resolve));
    }
    assert.equal(problems.length, 1);
    assert.match(problems[0]!, /gRPC.*OTEL_EXPORTER_OTLP_PROTOCOL=http\/protobuf/);
  });
});
