/** Protobuf that no client writes: what the collector and the trainer decode is read or refused with an error of ours. */
import { it } from "node:test";
import { protoWriter } from "../../src/base/wire/protobuf.ts";
import {
  decodePass,
  decodePassResult,
  decodeSamples,
  encodePass,
  encodePassResult,
  encodeSamples,
} from "../../src/base/wire/tinker-protobuf.ts";
import { decodeOtlp, decodeOtlpLogs } from "../../src/record/collector/otlp-protobuf.ts";
import { damaged, fuzz } from "./fuzz.ts";

const tokens = Int32Array.from({ length: 40 }, (_, at) => at);
const example = { input: tokens.slice(1), targets: tokens.slice(0, -1), weights: new Float32Array(39).fill(1) };

function span(): Uint8Array {
  const message = (fill: (writer: ReturnType<typeof protoWriter>) => void) => {
    const writer = protoWriter();
    fill(writer);
    return writer.finish();
  };
  const text = (value: string) => message((to) => to.bytes(1, Buffer.from(value)));
  const attribute = message((to) => {
    to.bytes(1, Buffer.from("gen_ai.system"));
    to.bytes(2, text("openai"));
  });
  const one = message((to) => {
    to.bytes(1, Buffer.alloc(16, 7));
    to.bytes(2, Buffer.alloc(8, 7));
    to.bytes(5, Buffer.from("chat"));
    for (let at = 0; at < 5; at++) to.bytes(9, attribute);
  });
  return message((to) =>
    to.bytes(
      1,
      message((resource) =>
        resource.bytes(
          2,
          message((scope) => scope.bytes(2, one)),
        ),
      ),
    ),
  );
}

it("fuzzed protobuf is read or refused with an error of ours", async (t) => {
  const seeds: [Uint8Array, (bytes: Uint8Array) => unknown][] = [
    [span(), decodeOtlp],
    [span(), decodeOtlpLogs],
    [
      encodePass({ modelId: "m", seqId: 1, examples: [example], loss: { name: "cross_entropy" }, forwardOnly: false }),
      decodePass,
    ],
    [encodePassResult([new Float32Array(20)], [new Float32Array(20)], { loss: 1 }), decodePassResult],
    [
      encodeSamples({ sequences: [{ tokens: [1, 2, 3], logprobs: [-1, -1, -1], stop_reason: "stop" }] } as never),
      decodeSamples,
    ],
  ];
  const done = await fuzz("protobuf", (random) => {
    const [bytes, decode] = seeds[random.below(seeds.length)]!;
    decode(damaged(bytes, random));
  });
  t.diagnostic(JSON.stringify(done));
});
