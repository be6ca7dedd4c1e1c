/** The rules of repeating, against answers captured from a SkyRL server and forms read from the Python SDK (fixtures). */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { listen } from "../../base/http/listen.ts";
import { type TinkerClient, type TinkerClientOptions, tinkerClient } from "./tinker-client.ts";

interface Answer {
  status: number;
  body?: unknown;
  bodyBase64?: string;
  headers?: Record<string, string>;
  /** Close the connection without a word. */
  drop?: boolean;
  /** Do not answer at all. */
  hang?: boolean;
}
const folder = join(import.meta.dirname, "../../../test/fixtures/tinker-wire");
const fixture = (name: string) =>
  (JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as { response: Answer }).response;
const pending = { status: 200, body: { request_id: "7", status: "pending" } };

/** A server that gives these answers, one for each request to a path, and a client of it. */
async function scripted(
  answers: Record<string, Answer[]>,
  work: (
    client: TinkerClient,
    seen: { path: string; body: string }[],
    pauses: number[],
    notes: string[],
  ) => Promise<void>,
  options: Partial<TinkerClientOptions> = {},
): Promise<void> {
  const seen: { path: string; body: string }[] = [];
  const pauses: number[] = [];
  const notes: string[] = [];
  const server = await listen(async (request, reply) => {
    const path = request.url.replace("/api/v1/", "");
    seen.push({ path, body: (await request.read(1e6)).toString() });
    const answer = answers[path]?.shift() ?? { status: 500, body: { detail: `no answer left for ${path}` } };
    if (answer.hang) return;
    if (answer.drop) return reply.cut();
    const headers = { "content-type": "application/json", ...answer.headers };
    const body = answer.body === undefined ? "" : JSON.stringify(answer.body);
    reply.send(answer.status, answer.bodyBase64 ? Buffer.from(answer.bodyBase64, "base64") : body, headers);
  });
  const client = tinkerClient({
    baseURL: server.origin,
    sleep: async (ms) => void pauses.push(ms),
    onNote: (note) => notes.push(note),
    ...options,
  });
  try {
    await work(client, seen, pauses, notes);
  } finally {
    await client.close();
    await server.close();
  }
}

/** Each pause is random below a bound that doubles. */
function assertGrowing(pauses: readonly number[]): void {
  for (const [tries, ms] of pauses.entries()) assert.ok(ms >= 0 && ms <= 500 * 2 ** tries, `${pauses}`);
}

describe("submitting to a Tinker server", () => {
  it("repeats the same body after a lost connection, 429, 408 and 5xx", async () => {
    const optim_step = [{ status: 0, drop: true }, { status: 503 }, { status: 429 }, { status: 408 }, pending];
    await scripted({ optim_step }, async (client, seen, pauses) => {
      const { id } = await client.submit("optim_step", { seq_id: 2, model_id: "m" });
      assert.equal(id, "7");
      assert.equal(new Set(seen.map(({ body }) => body)).size, 1);
      assert.deepEqual([seen.length, pauses.length], [5, 4]);
      assertGrowing(pauses);
    });
  });

  it("takes refusals as final: 400, 404, 409 and 422 are asked once", async () => {
    const refusals = readdirSync(folder)
      .map((file) => file.replace(".json", ""))
      .filter((name) => /-4(?:00|04|09|22)$/.test(name) && !/^(?:retrieve|hosted)-/.test(name));
    assert.ok(refusals.length >= 12, `${refusals}`);
    for (const name of refusals) {
      const answer = fixture(name);
      await scripted({ forward_backward: [answer] }, async (client, seen) => {
        await assert.rejects(client.submit("forward_backward", { seq_id: 1 }), { status: answer.status });
        assert.equal(seen.length, 1);
      });
    }
  });

  it("pauses all sampling on back-pressure without using up tries, and longer for a long prompt", async () => {
    const asample = [...Array.from({ length: 15 }, () => fixture("hosted-sample-429")), pending];
    await scripted({ asample }, async (client, seen, pauses) => {
      await client.submit("asample", { prompt: [1] }, { sampling: true });
      assert.equal(seen.length, 16);
      assert.ok(pauses.every((ms) => ms === 1000));
    });
    await scripted({ asample: [fixture("hosted-sample-429"), pending] }, async (client, _, pauses) => {
      await client.submit("asample", { prompt: "x".repeat(140_000) }, { sampling: true });
      assert.deepEqual(pauses, [5000]);
    });
  });

  it("waits for credit and says so once", async () => {
    const asample = [...Array.from({ length: 20 }, () => fixture("hosted-billing-402")), pending];
    await scripted({ asample }, async (client, _, pauses, notes) => {
      await client.submit("asample", {}, { sampling: true });
      assert.deepEqual([pauses.length, new Set(pauses)], [20, new Set([5000])]);
      assert.deepEqual(notes.length, 1);
      assert.match(notes[0]!, /credit/);
    });
  });

  it("follows the way to an archive once", async () => {
    await scripted({}, async (client) => {
      const archive = await listen(async (request, reply) => {
        if (request.url.endsWith("/download")) return reply.send(200, "archive", {});
        const { status, headers } = fixture("archive-302");
        reply.send(status, "", { ...headers, location: `${archive.origin}/download` });
      });
      const other = tinkerClient({ baseURL: archive.origin });
      try {
        const bytes = await other.download("training_runs/model_00000001/checkpoints/final/archive");
        assert.equal(Buffer.from(bytes).toString(), "archive");
        await assert.rejects(client.download("no/such"), { status: 500 });
      } finally {
        await other.close();
        await archive.close();
      }
    });
  });

  it("sends its key to the server alone, not to where the server sends it", async () => {
    const keys: [place: string, key: unknown][] = [];
    const store = await listen(async ({ header }, reply) => {
      keys.push(["store", header("x-api-key")]);
      reply.send(200, "archive", {});
    });
    const server = await listen(async ({ url, header }, reply) => {
      keys.push([url.split("/").at(-1)!, header("x-api-key")]);
      if (url.endsWith("/download")) return reply.send(200, "archive", {});
      reply.send(302, "", { location: url.endsWith("/near") ? "/download" : `${store.origin}/signed` });
    });
    const client = tinkerClient({ baseURL: server.origin, apiKey: "secret" });
    try {
      for (const path of ["near", "far"]) assert.equal(Buffer.from(await client.download(path)).toString(), "archive");
      assert.deepEqual(keys, [["near", "secret"], ["download", "secret"], ["far", "secret"], ["store", undefined]]); // biome-ignore format: one list
    } finally {
      await client.close();
      await server.close();
      await store.close();
    }
  });

  it("gives up after its tries", async () => {
    await scripted({}, async (client, seen) => {
      await assert.rejects(client.submit("optim_step", {}), /HTTP 500/);
      assert.equal(seen.length, 10);
    });
  });
});

describe("waiting for a Tinker server", () => {
  const waiting = async (
    retrieve_future: Answer[],
    check: (result: Promise<unknown>, seen: { path: string; body: string }[], notes: string[]) => Promise<void>,
    options: Partial<TinkerClientOptions> = {},
  ) =>
    scripted(
      { optim_step: [pending, { status: 200, body: { request_id: "8" } }], retrieve_future },
      async (client, seen, _, notes) => {
        const future = await client.submit("optim_step", { seq_id: 1 });
        await check(future.result(), seen, notes);
      },
      options,
    );

  it("asks again on try_again, 408, lost connections and its own time-out, and shows the queue", async () => {
    const answers = [
      fixture("hosted-try-again"),
      fixture("hosted-try-again-408"),
      { status: 0, drop: true },
      { status: 0, hang: true },
      { status: 502 },
      fixture("retrieve-optim-step"),
    ];
    await waiting(
      answers,
      async (result, seen, notes) => {
        assert.deepEqual(await result, { json: fixture("retrieve-optim-step").body });
        assert.equal(seen.filter(({ path }) => path === "retrieve_future").length, 6);
        assert.match(notes[0]!, /paused_capacity/);
      },
      { retrieveTimeoutMs: 300 },
    );
  });

  it("submits the original again when the promise is gone", async () => {
    await waiting([fixture("hosted-gone-410"), fixture("retrieve-optim-step")], async (result, seen) => {
      await result;
      assert.deepEqual(
        seen.map(({ path }) => path),
        ["optim_step", "retrieve_future", "optim_step", "retrieve_future"],
      );
      assert.equal(seen[2]!.body, seen[0]!.body);
      assert.equal(seen[3]!.body, '{"request_id":"8"}');
    });
  });

  it("tells once what is waited for", async () => {
    const wait = { status: 200, body: { request_id: "7", status: "pending" } };
    const answers = {
      forward: [1, 2].map((id) => ({ status: 200, body: { request_id: String(id) } })),
      retrieve_future: [wait, { status: 200, body: { done: true } }, wait, { status: 200, body: { done: true } }],
    };
    const told = Promise.withResolvers<void>();
    const options = {
      slowMs: 1,
      sleep: () => told.promise,
      onNote: (note: string) => {
        notes.push(note);
        told.resolve();
      },
    };
    const notes: string[] = [];
    await scripted(
      answers,
      async (client) => {
        for (let time = 0; time < 2; time++) await (await client.submit("forward", {})).result();
        assert.equal(notes.length, 1);
        assert.match(notes[0]!, /^waiting for forward, more than 0\.001 s so far/);
      },
      options,
    );
  });

  it("tells failures of the operation in the words of either kind of server, and does not ask again", async () => {
    for (const [name, words] of [
      ["retrieve-failed-400", /gspo/],
      ["retrieve-after-unload-400", /not loaded/],
      ["retrieve-create-model-rank-400", /Maximum number of LoRA adapters/],
      ["retrieve-create-model-full-400", /Maximum number of LoRA adapters/],
      ["hosted-failed", /unknown key dual_clip/],
    ] as const) {
      await waiting([fixture(name)], async (result, seen) => {
        await assert.rejects(result, words);
        assert.equal(seen.length, 2);
      });
    }
  });

  it("forgives an empty 400 three times, and no unknown future", async () => {
    const empty = { status: 400 };
    await waiting([empty, empty, empty, fixture("retrieve-optim-step")], async (result) => void (await result));
    await waiting([empty, empty, empty, empty], (result) => assert.rejects(result));
    await waiting([fixture("retrieve-unknown-404")], (result) => assert.rejects(result, { status: 404 }));
    const broken = Array.from({ length: 31 }, () => fixture("retrieve-not-a-number-500"));
    await waiting(broken, async (result, seen) => {
      await assert.rejects(result, { status: 500 });
      assert.equal(seen.length, 32);
    });
  });

  it("reads a result in protobuf, and asks once more where only its size is told", async () => {
    await waiting([fixture("hosted-metadata-only"), fixture("retrieve-asample-protobuf")], async (result) => {
      const { bytes } = (await result) as { bytes: Uint8Array };
      assert.equal(Buffer.from(bytes).toString("base64"), fixture("retrieve-asample-protobuf").bodyBase64);
    });
  });
});

describe("a server that is not there", () => {
  it("is given up after a few tries where it never answered, and an address that is none at once", async () => {
    const pauses: number[] = [];
    const notes: string[] = [];
    const client = tinkerClient({
      baseURL: "http://127.0.0.1:9",
      sleep: async (ms) => void pauses.push(ms),
      onNote: (note) => notes.push(note),
    });
    await assert.rejects(client.ask("GET", "healthz"), /ECONNREFUSED.*is the server running/);
    await client.close();
    assert.equal(pauses.length, 3);
    assertGrowing(pauses);
    assert.match(notes.join(), /^GET http:\/\/127.0.0.1:9.*trying again$/);
    for (const baseURL of ["gpu-box:8000", "not a url", ""])
      assert.throws(() => tinkerClient({ baseURL }), /is not the address of a server, such as http/);
  });

  it("is waited for where it did answer before, and a person hears once that it is away and that it is back", async () => {
    const drop = { status: 0, drop: true };
    const ok = { status: 200, body: {} };
    await scripted({ a: [ok, ...Array(6).fill(drop), ok] }, async (client, seen, _, notes) => {
      await client.ask("GET", "a");
      await client.ask("GET", "a");
      assert.equal(seen.length, 8);
      assert.match(notes[0] ?? "", /trying again$/);
      assert.deepEqual(notes.slice(1), ["the server answers again"]);
    });
  });
});
