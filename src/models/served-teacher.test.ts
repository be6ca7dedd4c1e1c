import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import type { Example } from "../core/engine.ts";
import { servedTeacher } from "./served-teacher.ts";

/** A server whose model finds every token likelier the larger its id. */
let server: Server;
let baseURL: string;
let echo = true;
before(async () => {
  server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { prompt } = JSON.parse(text) as { prompt: number[] };
    const token_logprobs = [null, ...prompt.slice(1).map((token) => -1 / token), -9];
    const choices = [{ text: "", logprobs: echo ? { token_logprobs } : null }];
    response.setHeader("content-type", "application/json").end(JSON.stringify({ choices }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
after(() => server.close());

const example: Example = { input: Int32Array.of(5, 6, 7), targets: Int32Array.of(6, 7, 8) };

describe("servedTeacher", () => {
  it("gives the log-probability of every target, in the order of the examples", async () => {
    const teacher = servedTeacher({ baseURL, model: "m", tokenizer: byteTokenizer() });
    const other: Example = { input: Int32Array.of(9), targets: Int32Array.of(10) };
    const scores = await teacher.score([example, other], 1);
    await teacher.close();
    const close = (a: Float32Array, b: number[]) =>
      a.length === b.length && a.every((x, at) => Math.abs(x - b[at]!) < 1e-6);
    assert.ok(close(scores[0]!, [-1 / 6, -1 / 7, -1 / 8]));
    assert.ok(close(scores[1]!, [-1 / 10]));
  });

  it("says so where a server does not score, and where another temperature is asked for", async () => {
    const teacher = servedTeacher({ baseURL, model: "m", tokenizer: byteTokenizer(), retries: 0 });
    await assert.rejects(teacher.score([example], 0.5), /temperature 1/);
    echo = false;
    await assert.rejects(teacher.score([example], 1), /does not score the tokens/);
    echo = true;
    await teacher.close();
  });
});
