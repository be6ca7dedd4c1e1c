/** Two servers of ours as a trainer uses them: the shipped model as the policy, and rollouts that are exactly the chains of a run here. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { readModelUse } from "../src/base/files/model-use-file.ts";
import { runChain } from "../src/chain/run-chain.ts";
import { openFolder } from "../src/cli/open-model.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { labToolsByTask } from "../src/lab/memory-lab-tools.ts";
import { labProfile } from "../src/lab/profile.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";

const cli = join(import.meta.dirname, "../src/cli/main.ts");
const folder = join(import.meta.dirname, "../weights/afm-lab-2m");

describe("coa serve rollouts", () => {
  it("gives a trainer the ids and log-probabilities of chains that ran against its policy", async () => {
    const home = await mkdtemp(join(tmpdir(), "coa-rollouts-"));
    const servers: ChildProcess[] = [];
    const start = async (args: string[]): Promise<string> => {
      const server = spawn(process.execPath, [cli, ...args, "--port", "0"], {
        env: { ...process.env, COA_HOME: home },
        stdio: ["ignore", "pipe", "ignore"],
      });
      servers.push(server);
      for await (const line of createInterface({ input: server.stdout! })) {
        const origin = /^ready (http:\S+)$/.exec(line)?.[1];
        if (origin) return origin;
      }
      throw new Error(`coa ${args.join(" ")} did not start`);
    };
    try {
      const [policy, rollouts] = await Promise.all([
        start(["serve", "--lab", "7"]),
        start(["serve", "rollouts", "--lab", "7"]),
      ]);
      const world = createWorld({ seed: 7, pages: 600, split: "test" });
      const [task] = worldTasks(world, { count: 1, seed: 7 });
      const response = await fetch(`${rollouts}/rollouts`, {
        method: "POST",
        body: JSON.stringify({
          baseURL: `${policy}/v1`,
          model: "coa",
          items: [{ task, seed: 5, sampling: { temperature: 1 } }],
        }),
      });
      assert.equal(response.status, 200);
      // biome-ignore lint/suspicious/noExplicitAny: the answer of a server
      const [one] = ((await response.json()) as any).rollouts;
      const { model, engine } = await openFolder(folder);
      try {
        const here = await runChain(task!, {
          model,
          profile: labProfile,
          tools: labToolsByTask(world)(task!),
          systemPrompt: false,
          sampling: { temperature: 1, seed: 5 },
          limits: (await readModelUse(folder))?.limits,
        });
        assert.deepEqual(one.prompt_ids, here.promptTokens);
        assert.deepEqual(
          one.response_ids,
          here.segments.flatMap(({ tokens }) => tokens ?? []),
        );
        const sampled = here.segments.flatMap(({ by, logprobs }) => (by === "model" ? (logprobs ?? []) : []));
        const returned = one.response_logprobs.filter((_: number, index: number) => one.response_mask[index] === 1);
        assert.deepEqual(returned, sampled);
        assert.equal(one.answer, here.answer);
        assert.ok(one.reward === 0 || one.reward === 1);
      } finally {
        await engine.close();
      }
    } finally {
      for (const server of servers) server.kill("SIGKILL");
      await rm(home, { recursive: true, force: true });
    }
  });
});
