/** Our training server is asked what a SkyRL server was asked (test/fixtures/tinker-wire), and answers with the same status and fields. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { base, config } from "./far-runs.ts";
import { loopbackTrainer } from "./loopback-trainer.ts";

interface Exchange {
  request: {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: Record<string, unknown>;
    bodyBase64?: string;
  };
  response: { status: number; body?: Record<string, unknown> };
}

const folder = join(import.meta.dirname, "../fixtures/tinker-wire");
const captured = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as Exchange;
const server = await loopbackTrainer({ ...base, config: { ...config, vocabularySize: 2048 } }, config);
after(() => server.close());
/** Our names for what the captured ones name. */
const ids = new Map([["coa/lab-2m", "coa/test"]]);

/** Sends a captured request with our ids; `change` replaces fields of its body. */
async function ask(name: string, change: Record<string, unknown> = {}, status = captured(name).response.status) {
  const { request, response } = captured(name);
  const renamed = (text: string) => [...ids].reduce((now, [theirs, own]) => now.replaceAll(theirs, own), text);
  const body = request.bodyBase64
    ? Buffer.from(request.bodyBase64, "base64")
    : request.body && JSON.stringify({ ...JSON.parse(renamed(JSON.stringify(request.body))), ...change });
  const answer = await fetch(server.origin + renamed(request.path), {
    method: request.method,
    headers: request.headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
  });
  const said = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
  assert.equal(answer.status, status, `${name}: ${JSON.stringify(said)}`);
  return { said, expected: response.body ?? {} };
}

/** The same, and every field that the captured answer has. */
async function sameFields(name: string, change?: Record<string, unknown>) {
  const { said, expected } = await ask(name, change);
  for (const key of Object.keys(expected)) assert.ok(key in said, `${name} lacks ${key}: ${JSON.stringify(said)}`);
  return said;
}

/** Submits, and fetches the result, by two captured exchanges. */
async function carriedOut(name: string, change?: Record<string, unknown>, result = `retrieve-${name}`) {
  const { said } = await ask(name, change);
  assert.equal(typeof said["request_id"], "string", name);
  return sameFields(result, { request_id: said["request_id"] });
}

describe("our training server and captured exchanges", () => {
  it("greets, opens a session and makes a model", async () => {
    await sameFields("healthz");
    await sameFields("capabilities");
    ids.set("session_00000001", String((await sameFields("create-session"))["session_id"]));
    await sameFields("session-heartbeat");
    await sameFields("session-heartbeat-404");
    const { model_id } = await carriedOut("create-model");
    ids.set("model_00000001", String(model_id));
    await ask("get-info");
  });

  it("takes a repeated submission once, and another body under its number not at all", async () => {
    const first = await sameFields("forward-backward-same-seq-same-body");
    const again = await sameFields("forward-backward-same-seq-same-body");
    assert.equal(again["request_id"], first["request_id"]);
    await ask("forward-backward-same-seq-other-body-409");
    await sameFields("retrieve-forward-backward-cross-entropy", { request_id: first["request_id"] });
    await carriedOut("optim-step", { seq_id: 2 });
  });

  it("refuses at once what the other refuses at once", async () => {
    // The captured key, dual_clip, is one that our server has; it has not this one.
    const { forward_backward_input } = captured("forward-backward-bad-config-422").request.body!;
    await ask("forward-backward-bad-config-422", {
      forward_backward_input: { ...(forward_backward_input as object), loss_fn_config: { value_clip: 10 } },
    });
    for (const name of [
      "forward-backward-unknown-loss-422",
      "forward-backward-broken-protobuf-422",
      "forward-backward-unknown-model-404",
      "asample-unknown-session-404",
      "asample-mixed-stop-422",
      "retrieve-unknown-404",
      "load-weights-not-first-400",
    ])
      await ask(name);
  });

  it("saves once under a name, publishes, samples and unloads", async () => {
    await carriedOut("save-weights", { seq_id: 3 });
    // Ours looks when the save's turn comes, so it is the result that says so.
    const { path, ...others } = captured("save-weights").request.body!;
    const taken = (await ask("save-weights", { ...others, model_id: ids.get("model_00000001"), path, seq_id: 4 })).said;
    const { said } = await ask("retrieve-save-weights", { request_id: taken["request_id"] });
    assert.match(String(said["error"]), /already exists/);
    await ask("weights-info");
    const { sampling_session_id } = await carriedOut("save-weights-for-sampler-ephemeral", { seq_id: 5 });
    ids.set("sampling_00000001", String(sampling_session_id));
    await ask("asample-without-max-tokens-400");
    // Few bytes that ask for more than there is memory or time for.
    const { sampling_params: params } = captured("asample").request.body as { sampling_params: object };
    const stop = Array.from({ length: 100_000 }, (_, at) => `${at}`);
    for (const change of [{ num_samples: 1e9 }, { sampling_params: { ...params, stop } }])
      await ask("asample", change, 422);
    await carriedOut("asample");
    // Newer clients name each sample by what the promise carries.
    const { said: promise } = await ask("asample");
    assert.equal(
      (promise["sample_sequence_ids"] as string[]).length,
      captured("asample").request.body!["num_samples"] ?? 1,
    );
    const { prompt } = captured("asample").request.body as { prompt: { chunks: { tokens: number[] }[] } };
    const scored = await carriedOut("asample", { prompt_logprobs: true });
    const logprobs = scored["prompt_logprobs"] as (number | null)[];
    assert.equal(logprobs.length, prompt.chunks.flatMap(({ tokens }) => tokens).length);
    assert.ok(logprobs[0] === null && logprobs.slice(1).every((value) => value! < 0), `${logprobs}`);
    await sameFields("get-sampler");
    await sameFields("training-run");
    await carriedOut("unload-model", { model_id: ids.get("model_00000001") });
    await ask("forward-backward-unknown-model-404");
  });
});
