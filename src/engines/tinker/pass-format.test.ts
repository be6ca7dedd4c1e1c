/** Passes in the format that the server takes, with captured answers (fixtures): JSON alone, protobuf alone, both, and neither. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { listen } from "../../base/http/listen.ts";
import { fromPass } from "../../base/wire/tinker.ts";
import { decodePass, protobufType } from "../../base/wire/tinker-protobuf.ts";
import { openTinkerEngine, type TinkerEngine } from "./tinker-engine.ts";

interface Exchange {
  request: { body?: Record<string, unknown>; bodyBase64?: string };
  response: { status: number; headers?: Record<string, string>; body?: unknown; bodyBase64?: string };
}
const folder = join(import.meta.dirname, "../../../test/fixtures/tinker-wire");
const fixture = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as Exchange;
const asked = fixture("forward-backward-ppo").request.body!["forward_backward_input"] as never;
const { examples, loss } = fromPass(asked);
const answered = fixture("retrieve-forward-backward-ppo").response.body as {
  loss_fn_outputs: { logprobs: { data: number[] } }[];
};

/** A SkyRL server as captured, that takes these formats; what it was sent as passes, and an engine over it. */
async function serving(
  { takes, offers, refusal = 422 }: { takes: string[]; offers?: string[]; refusal?: number },
  work: (engine: TinkerEngine, passes: { format: string; path: string; body: Buffer }[]) => Promise<void>,
) {
  const passes: { format: string; path: string; body: Buffer }[] = [];
  const results = new Map([
    ["1", "retrieve-create-model"],
    ["10", "retrieve-forward-backward-ppo"],
    ["4", "retrieve-forward"],
    ["9", "retrieve-unload-model"],
  ]);
  const server = await listen(async (request, reply) => {
    const path = request.url.replace("/api/v1/", "");
    const body = await request.read(1e6);
    const give = ({ status, headers, body: said, bodyBase64 }: Exchange["response"]) =>
      reply.send(status, bodyBase64 ? Buffer.from(bodyBase64, "base64") : JSON.stringify(said), headers ?? {});
    const named: Record<string, string> = {
      get_server_capabilities: "capabilities",
      create_session: "create-session",
      create_model: "create-model",
    };
    if (named[path]) return give(fixture(named[path]).response);
    if (path === "client/config") {
      const coa = { version: 1, lossOptions: [], gradientNorm: true, formats: offers };
      return give({ status: 200, body: offers ? { coa } : fixture("client-config").response.body });
    }
    if (path === "unload_model") return give({ status: 200, body: { request_id: "9" } });
    if (path === "retrieve_future") {
      const id = (JSON.parse(body.toString()) as { request_id: string }).request_id;
      const bytes = id === "10" && request.headers.accept === protobufType && takes.includes("protobuf");
      return give(fixture(bytes ? "retrieve-forward-backward-protobuf" : results.get(id)!).response);
    }
    const format = request.headers["content-type"]?.startsWith(protobufType) ? "protobuf" : "json";
    passes.push({ format, path, body });
    if (!takes.includes(format)) return give({ status: refusal, body: { detail: "not a body of this server" } });
    give({ status: 200, body: { request_id: path === "forward" ? "4" : "10", status: "pending" } });
  });
  const engine = await openTinkerEngine({
    baseURL: server.origin,
    baseModel: "coa/lab-2m",
    lora: { rank: 8 },
    vocabularySize: 768,
    maxContext: 64,
  });
  try {
    await work(engine, passes);
  } finally {
    await engine.close();
    await server.close();
  }
}

describe("passes to a server", () => {
  for (const [name, { offers, expected, refusal }] of Object.entries({
    "that takes JSON alone and does not say so": { expected: ["protobuf", "json", "json"] },
    "that takes JSON alone and calls protobuf an unknown type": {
      expected: ["protobuf", "json", "json"],
      refusal: 415,
    },
    "that says that it takes JSON alone": { offers: ["json"], expected: ["json", "json"] },
  }))
    it(`go in JSON to one ${name}`, async () => {
      await serving(
        { takes: ["json"], ...(offers && { offers }), ...(refusal && { refusal }) },
        async (engine, passes) => {
          const first = await engine.forwardBackward(examples, loss);
          await engine.forwardBackward(examples, loss);
          assert.deepEqual(
            passes.map(({ format }) => format),
            expected,
          );
          for (const [at, row] of first.logprobs.entries())
            assert.deepEqual([...row], [...Float32Array.from(answered.loss_fn_outputs[at]!.logprobs.data)]);
          const taken = JSON.parse(passes.find(({ format }) => format === "json")!.body.toString());
          assert.deepEqual([taken.model_id, taken.seq_id], ["model_00000001", 1], "the number was not used up");
          assert.deepEqual(fromPass(taken.forward_backward_input), { examples, loss });
          const { input, targets, weights } = fromPass(fixture("forward").request.body!["forward_input"] as never)
            .examples[0]!;
          await engine.forward([{ input, targets, weights }], { name: "cross_entropy" });
          assert.equal(passes.at(-1)!.path, "forward");
        },
      );
    });

  for (const [name, { offers, takes, expected }] of Object.entries({
    "that takes protobuf alone": { takes: ["protobuf"], expected: ["protobuf", "protobuf"] },
    "that takes protobuf alone and says so": {
      takes: ["protobuf"],
      offers: ["protobuf"],
      expected: ["protobuf", "protobuf"],
    },
    "that offers JSON first and takes protobuf alone": {
      takes: ["protobuf"],
      offers: ["json", "protobuf"],
      expected: ["json", "protobuf", "protobuf"],
    },
    "that takes both": { takes: ["protobuf", "json"], expected: ["protobuf", "protobuf"] },
  }))
    it(`go in protobuf to one ${name}`, async () => {
      await serving({ takes, ...(offers && { offers }) }, async (engine, passes) => {
        const first = await engine.forwardBackward(examples, loss);
        await engine.forward(examples, loss);
        assert.deepEqual(
          passes.map(({ format }) => format),
          expected,
        );
        for (const [at, row] of first.logprobs.entries())
          for (const [of, value] of row.entries())
            assert.ok(Math.abs(value - answered.loss_fn_outputs[at]!.logprobs.data[of]!) < 1e-6);
        const bytes = passes.find(({ format }) => format === "protobuf")!.body;
        const captured = decodePass(
          Buffer.from(fixture("forward-backward-ppo-protobuf").request.bodyBase64!, "base64"),
        );
        assert.deepEqual(decodePass(bytes), { ...captured, seqId: 1 });
        assert.equal(decodePass(passes.at(-1)!.body).forwardOnly, true);
      });
    });

  it("fail with the first refusal where neither is taken, and both are tried again", async () => {
    await serving({ takes: [] }, async (engine, passes) => {
      for (const _ of [1, 2]) await assert.rejects(engine.forward(examples, loss), { status: 422 });
      assert.deepEqual(
        passes.map(({ format }) => format),
        ["protobuf", "json", "protobuf", "json"],
      );
    });
  });
});
