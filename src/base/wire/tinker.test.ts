/** Against exchanges captured from a SkyRL server (test/fixtures/tinker-wire). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { LossSpec } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";
import { protoWriter } from "./protobuf.ts";
import {
  fromLossConfig,
  fromPass,
  passSchema,
  sampleRequestSchema,
  toLossConfig,
  type toPassResult,
} from "./tinker.ts";
import {
  decodePass,
  decodePassResult,
  decodeSamples,
  encodePass,
  encodePassResult,
  encodeSamples,
} from "./tinker-protobuf.ts";

interface Exchange {
  request: { body?: Record<string, unknown>; bodyBase64?: string };
  response: { body?: Record<string, unknown>; bodyBase64?: string; decoded?: Record<string, unknown> };
}
const folder = join(import.meta.dirname, "../../../test/fixtures/tinker-wire");
const wire = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as Exchange;
const bytes = (base64: string | undefined) => new Uint8Array(Buffer.from(base64!, "base64"));
const ppo: LossSpec = { name: "ppo", clipLow: 0.2, clipHigh: 0.28 };

describe("Tinker passes", () => {
  it("are the same in protobuf, in our bytes and in theirs", () => {
    const json = passSchema.parse(wire("forward-backward-ppo").request.body!["forward_backward_input"]);
    const { examples, loss } = fromPass(json);
    const theirs = decodePass(bytes(wire("forward-backward-ppo-protobuf").request.bodyBase64));
    assert.equal(theirs.modelId, "model_00000001");
    assert.deepEqual(theirs.examples, examples);
    assert.deepEqual(toLossConfig(theirs.loss), toLossConfig(loss));
    assert.equal(theirs.forwardOnly, false);
    assert.deepEqual(decodePass(encodePass(theirs)), theirs);
    assert.equal(decodePass(bytes(wire("forward-only-protobuf").request.bodyBase64)).forwardOnly, true);
  });

  it("have results that agree between JSON and protobuf, and survive our own encoding", () => {
    const { loss_fn_outputs: outputs } = wire("retrieve-forward-backward-ppo").response.body as never as ReturnType<
      typeof toPassResult
    >;
    const json = outputs.map(({ logprobs }) => logprobs.data);
    const { logprobs } = decodePassResult(bytes(wire("retrieve-forward-backward-protobuf").response.bodyBase64));
    assert.equal(logprobs.length, json.length);
    for (const [at, row] of json.entries())
      for (const [token, value] of row.entries()) assert.ok(Math.abs(value - logprobs[at]![token]!) < 1e-5);
    const losses = logprobs.map((row) => row.map((value) => -value));
    assert.deepEqual(decodePassResult(encodePassResult(logprobs, losses, { "loss:sum": 2 })), {
      logprobs,
      metrics: { "loss:sum": 2 },
    });
  });

  it("refuse losses, options and bytes that are not known", () => {
    const bad = passSchema.parse(wire("forward-backward-bad-config-422").request.body!["forward_backward_input"]);
    assert.deepEqual(fromPass(bad).loss, { name: "ppo", clipLow: 1 - 0.8, clipHigh: 1.2 - 1, dualClip: 10 }); // our extension
    assert.throws(() => fromLossConfig("ppo", { delta: 1 }), /not delta/);
    assert.throws(() => fromLossConfig("gspo", {}), /no loss_fn "gspo"/);
    assert.throws(() => decodePass(bytes(wire("forward-backward-broken-protobuf-422").request.bodyBase64)));
    assert.deepEqual(fromLossConfig("ppo", toLossConfig(ppo)).name, "ppo");
  });
});

describe("broken Tinker messages", () => {
  /** Every beginning of a message, and the message with each byte changed. */
  function* damaged(message: Uint8Array): Generator<Uint8Array> {
    for (let length = 0; length < message.length; length++) yield message.slice(0, length);
    for (let at = 0; at < message.length; at++) yield message.map((byte, index) => (index === at ? byte ^ 0x05 : byte));
  }

  it("are refused in words or read, cut and changed at every byte, and never break the reader", () => {
    for (const [message, read] of [
      [bytes(wire("forward-backward-ppo-protobuf").request.bodyBase64), decodePass],
      [bytes(wire("retrieve-forward-backward-protobuf").response.bodyBase64), decodePassResult],
      [bytes(wire("retrieve-asample-protobuf").response.bodyBase64), decodeSamples],
    ] as const) {
      let refused = 0;
      for (const one of damaged(message)) {
        try {
          read(one);
        } catch (error) {
          assert.ok(error instanceof CoaError, `${error}`);
          refused++;
        }
      }
      assert.ok(refused > message.length / 4, `${refused} of ${2 * message.length}`);
    }
  });

  it("are read past fields that a later version may add", () => {
    const message = bytes(wire("retrieve-asample-protobuf").response.bodyBase64);
    const more = protoWriter();
    more.integer(90, 7);
    more.text(91, "new");
    more.double(92, 0.5);
    assert.deepEqual(decodeSamples(Buffer.concat([message, more.finish()])), decodeSamples(message));
  });

  it("are refused where a datum's arrays differ in length", () => {
    const json = passSchema.parse(wire("forward-backward-ppo").request.body!["forward_backward_input"]);
    for (const name of ["target_tokens", "logprobs", "advantages"]) {
      const broken = structuredClone(json);
      broken.data[0]!.loss_fn_inputs[name]!.data.pop();
      assert.throws(() => fromPass(broken), new RegExp(`input tokens and \\d+ ${name}`));
    }
  });
});

describe("Tinker samples", () => {
  it("are the same in JSON and in protobuf", () => {
    const { bodyBase64, decoded } = wire("retrieve-asample-protobuf").response;
    const samples = decodeSamples(bytes(bodyBase64));
    assert.deepEqual(samples, decoded);
    const json = wire("retrieve-asample").response.body as never as typeof samples;
    assert.deepEqual(samples.sequences, json.sequences);
    assert.deepEqual(decodeSamples(encodeSamples(samples)), samples);
  });

  it("are asked for with ids or with strings, never with both", () => {
    assert.ok(sampleRequestSchema.safeParse(wire("asample").request.body).success);
    assert.equal(sampleRequestSchema.safeParse(wire("asample-mixed-stop-422").request.body).success, false);
  });
});
