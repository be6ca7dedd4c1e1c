import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ModelServer, startModelServer } from "../../../test/fixtures/model-server.ts";
import { coa } from "../../../test/fixtures/run-coa.ts";
import type { ChainEvent } from "../../core/events.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";

let server: ModelServer;
let folder: string;
const plan = "<think>a sum</think><plan>add</plan><think>work it out</think><code>40 + 2</code>";
const end =
  "<think>done</think><suggested_answer>42</suggested_answer><think>it fits</think><double_check>score 4</double_check><answer>42</answer>";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-ask-"));
  server = await startModelServer({
    models: { data: [{ id: "m", owned_by: "vllm" }] },
    keepStop: true,
    answer: ({ body }) =>
      JSON.stringify(body).includes("which candidate")
        ? '{"best": 1}'
        : JSON.stringify(body["messages"]).includes("</observation>")
          ? end
          : plan,
  });
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = (...args: string[]) => coa("ask", ...args);

const flags = () => ["--base-url", server.url, "--lab", "3"];

describe("coa ask", () => {
  it("shows every role and ends with what it cost", async () => {
    const { code, stdout, stderr } = await ask("What is 40 + 2?", ...flags());
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^think +a sum\nplan +add\n/);
    assert.match(stdout, /\nobservation [\s\S]*42[\s\S]*\nanswer +42\n$/);
    assert.match(stderr, /m at .*: continue\n/);
    assert.match(stderr, /answered · 2 model calls · 1 tool call · .* tokens billed, .* computed/);
  });

  it("prints one trajectory with --json, every event with --events, and the answer alone with --quiet", async () => {
    const json = await ask("What is 40 + 2?", ...flags(), "--json");
    const trajectory = trajectorySchema.parse(JSON.parse(json.stdout));
    assert.equal(trajectory.answer, "42");
    const events = await ask("What is 40 + 2?", ...flags(), "--events");
    const types = events.stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as ChainEvent).type);
    assert.equal(types[0], "chain-start");
    assert.equal(types.at(-1), "chain-end");
    const quiet = await ask("What is 40 + 2?", ...flags(), "--quiet");
    assert.equal(quiet.stdout, "42\n");
  });

  it("saves what it decoded, one chain after the other", async () => {
    const save = join(folder, "chains.jsonl");
    for (const _ of [1, 2]) await ask("What is 40 + 2?", ...flags(), "--save", save);
    const saved = (await readFile(save, "utf8"))
      .trim()
      .split("\n")
      .map((line) => trajectorySchema.parse(JSON.parse(line)));
    assert.equal(saved.length, 2);
  });

  it("says what is wrong with a flag", async () => {
    await assert.rejects(
      ask("q", ...flags(), "--set", "chain.enforcement=hope"),
      /chain.enforcement takes report or repair/,
    );
    await assert.rejects(ask("q", "--model", "./nowhere", "--base-url", server.url), /nowhere is not a model folder/);
    await assert.rejects(ask("--base-url", server.url), /needs a question/);
  });

  it("keeps the entropy at each token with chain.entropies", async () => {
    const model = join(import.meta.dirname, "..", "..", "..", "weights", "afm-lab-2m");
    for (const asked of [[], ["--set", "chain.entropies"]]) {
      const { stdout } = await ask("--model", model, "--lab", "3", "--json", ...asked);
      const { segments } = trajectorySchema.parse(JSON.parse(stdout));
      const written = segments.filter(({ tokens, logprobs }) => tokens && logprobs);
      assert.ok(written.length > 5);
      for (const { tokens, entropies } of written)
        assert.equal(entropies?.length, asked.length === 0 ? undefined : tokens!.length);
    }
  });

  it("takes a question from the lab world where none is given", async () => {
    const { code, stderr } = await ask(...flags(), "--quiet");
    assert.equal(code, 0);
    assert.match(stderr, /^A question about lab world 3: .+ \(right: .+\)/m);
  });
});
