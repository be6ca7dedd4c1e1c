/** The shipped model behind each API answers lab questions exactly as `coa ask` does, and the server stops cleanly. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import { eventsOf } from "../src/base/http/server-events.ts";
import type { Trajectory } from "../src/core/trajectory.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const cli = join(import.meta.dirname, "../src/cli/main.ts");
const spoken = ({ segments, answer }: Trajectory) => ({
  answer,
  segments: segments.map(({ tag, text, tokens }) => ({ tag, text, tokens })),
});

describe("coa serve", () => {
  it("gives the chains of coa ask through every API, and ends with 0 when it is stopped", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-serve-lab-"));
    const kept = join(folder, "kept.jsonl");
    const env = { ...process.env, COA_HOME: folder };
    const server = spawn(process.execPath, [cli, "serve", "--lab", "7", "--port", "0", "--keep", kept], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      let origin = "";
      for await (const line of createInterface({ input: server.stdout })) {
        origin = /^ready (http:\S+)$/.exec(line)?.[1] ?? "";
        if (origin) break;
      }
      const ask = async (path: string, body: object): Promise<Loose> =>
        (await fetch(origin + path, { method: "POST", body: JSON.stringify(body) })).json();
      const pieces = async (path: string, body: object): Promise<Loose[]> => {
        const reply = await fetch(origin + path, { method: "POST", body: JSON.stringify(body) });
        const data = eventsOf(await reply.text());
        return data.filter((one) => one !== "[DONE]").map((one) => JSON.parse(one));
      };
      const world = createWorld({ seed: 7, pages: 600, split: "test" });
      for (const { question } of worldTasks(world, { count: 2, seed: 7 })) {
        const messages = [{ role: "user", content: question }];
        const chat = await ask("/v1/chat/completions", { messages });
        const response = await ask("/v1/responses", { input: question });
        const message = await ask("/v1/messages", { max_tokens: 700, messages });
        const chain = await ask("/v1/chains", { question });
        const parts = [{ type: "text", text: question }];
        const page = await pieces("/api/chat", { messages: [{ id: "u", role: "user", parts }] });
        const streamed = await pieces("/v1/chat/completions", { messages, stream: true });
        const { stdout } = spawnSync(process.execPath, [cli, "ask", question, "--lab", "7", "--json"], {
          env,
          encoding: "utf8",
          maxBuffer: 2 ** 26,
        });
        const asked = JSON.parse(stdout) as Trajectory;
        assert.equal(chat.choices[0].message.content, asked.answer ?? "");
        assert.equal(response.output.at(-1).content?.[0].text, asked.answer ?? undefined);
        assert.equal(message.content.at(-1).text, asked.answer ?? undefined);
        assert.deepEqual(spoken(chain), spoken(asked));
        const told = (events: Loose[], of: (event: Loose) => string | undefined) => events.map(of).join("");
        assert.equal(
          told(page, (event) => (event.type === "text-delta" ? event.delta : "")),
          asked.answer ?? "",
        );
        assert.equal(
          told(streamed, (event) => event.choices[0]?.delta.content),
          asked.answer ?? "",
        );
        const served = (await readAllJsonl<Trajectory>(kept)).slice(-6);
        assert.equal(served.length, 6);
        for (const trajectory of served) assert.deepEqual(spoken(trajectory), spoken(asked));
      }
      server.kill("SIGTERM");
      const [code] = await once(server, "exit");
      assert.equal(code, 0);
    } finally {
      server.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    }
  });
});
