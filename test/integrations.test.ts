/**
 * The Python files that other trainers load, by their contract: stand-ins for the trainers' own modules, and for the rest
 * real parts: the rollout server here, a policy that takes and gives token ids, and Python itself.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { taskGrader } from "../src/graders/grade-task.ts";
import { outcomeReward } from "../src/graders/reward.ts";
import { mhqaProfile } from "../src/language/profiles.ts";
import { openPolicyClients } from "../src/models/policy-clients.ts";
import { rolloutHandler } from "../src/serve/rollout-handler.ts";
import { serve } from "../src/serve/serve.ts";
import { byteTokenizer, startModelServer, tableTool } from "../src/testing/index.ts";

const folder = join(import.meta.dirname, "../integrations");
const noPython = spawnSync("python3", ["--version"]).status === 0 ? false : "python3 is not installed";
const tokenizer = byteTokenizer();
const found = "<think>there</think><answer>Lyon</answer>";
const looks = "<think>look it up</think><wiki_search>Ada</wiki_search>";

/** Runs Python with a folder of integrations on its path and reads the JSON it prints. */
async function python(name: string, program: string): Promise<Record<string, unknown>> {
  const env = { ...process.env, PYTHONPATH: join(folder, name), PYTHONDONTWRITEBYTECODE: "1" };
  const { stdout } = await promisify(execFile)("python3", ["-c", program], { env });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe("integrations", { skip: noPython }, () => {
  const clients = openPolicyClients(tokenizer, { retries: 0 });
  let server: Awaited<ReturnType<typeof serve>>;
  let policy: Awaited<ReturnType<typeof startModelServer>>;
  before(async () => {
    const answer = ({ body }: { body: Record<string, unknown> }) =>
      tokenizer.decode(body["prompt"] as number[]).includes("Ada lives in Lyon.") ? found : looks;
    policy = await startModelServer({ answer, tokenizer, keepStop: true });
    const handler = rolloutHandler({
      policyAt: (address) => clients.at(address),
      profile: mhqaProfile,
      toolsOf: () => [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")],
      reward: outcomeReward(taskGrader()),
      defaults: { systemPrompt: false },
    });
    server = await serve(handler, {});
  });
  after(async () => {
    await clients.close();
    await server?.stop(1000);
    await policy?.close();
  });

  it("gives TRL one chain per prompt, with the mask of what the model wrote and the reward", async () => {
    const told = await python(
      "trl",
      `
import json
from types import SimpleNamespace
from coa_rollout import chain_reward, chain_rollouts
tasks = [{"prompt": "Where does Ada live?", "answers": ["Lyon"]}, {"prompt": "Where does Ada work?", "answers": ["Paris"]}]
run = chain_rollouts("${server.origin}", "${policy.url}", tasks)
trainer = SimpleNamespace(args=SimpleNamespace(temperature=0.9), state=SimpleNamespace(global_step=3))
asked = [[{"role": "user", "content": "Where does Ada live?"}]] * 2 + ["Where does Ada work?"]
out = run(asked, trainer)
unknown = None
try: run(["Who?"], trainer)
except KeyError as error: unknown = str(error)
print(json.dumps({**out, "rewards": chain_reward(completions=[], **out), "unknown": unknown}))`,
    );
    assert.deepEqual(told["rewards"], [1, 1, 0]);
    const completions = told["completion_ids"] as number[][];
    const masks = told["env_mask"] as number[][];
    const logprobs = told["logprobs"] as number[][];
    assert.equal((told["prompt_ids"] as number[][]).length, 3);
    for (const [index, ids] of completions.entries()) {
      assert.equal(masks[index]!.length, ids.length);
      assert.equal(logprobs[index]!.length, ids.length);
      assert.equal(tokenizer.decode(ids.filter((_, at) => masks[index]![at] === 1)), looks + found);
    }
    assert.match(String(told["unknown"]), /no task has the question 'Who\?'/);
    assert.equal(policy.requests.at(-1)?.body["temperature"], 0.9);
  });

  it("runs a chain for verl against its own server manager, every call of a chain under one id", async () => {
    const told = await python(
      "verl",
      `
import asyncio, json, sys
from types import ModuleType, SimpleNamespace
class AgentLoopBase:
    def __init__(self, config, server_manager, tokenizer): self.config, self.server_manager, self.tokenizer = config, server_manager, tokenizer
class AgentLoopOutput(SimpleNamespace):
    def __init__(self, **fields): super().__init__(extra_fields={}, **fields)
registered = {}
def register(name): return lambda cls: registered.setdefault(name, cls)
for name in ("verl", "verl.experimental", "verl.experimental.agent_loop", "verl.experimental.agent_loop.agent_loop"):
    sys.modules[name] = ModuleType(name)
vars(sys.modules["verl.experimental.agent_loop.agent_loop"]).update(AgentLoopBase=AgentLoopBase, AgentLoopOutput=AgentLoopOutput, register=register)
import coa_agent_loop
calls = []
class Manager:
    async def generate(self, request_id, prompt_ids, sampling_params):
        calls.append({"id": request_id, "prompt": prompt_ids, "sampling": sampling_params})
        text = ${JSON.stringify(found)} if "Ada lives in Lyon." in bytes(prompt_ids).decode() else ${JSON.stringify(looks)}
        ids = list(text.encode())
        return SimpleNamespace(token_ids=ids, log_probs=[-0.25] * len(ids), stop_reason="completed")
tokenizer = SimpleNamespace(decode=lambda ids: bytes(ids).decode())
config = SimpleNamespace(actor_rollout_ref=SimpleNamespace(rollout=SimpleNamespace(response_length=4096)))
loop = registered["coa_chain"](config, Manager(), tokenizer, server="${server.origin}")
out = asyncio.run(loop.run({"temperature": 0.8, "top_p": 1.0}, question="Where does Ada live?", answers=["Lyon"], index=4))
print(json.dumps({**vars(out), "calls": calls}))`,
    );
    const ids = told["response_ids"] as number[];
    const mask = told["response_mask"] as number[];
    const calls = told["calls"] as { id: string; prompt: number[]; sampling: Record<string, unknown> }[];
    assert.equal(told["reward_score"], 1);
    assert.equal(told["num_turns"], 2);
    assert.equal(tokenizer.decode(ids.filter((_, at) => mask[at] === 1)), looks + found);
    assert.deepEqual(calls[0]!.prompt, told["prompt_ids"]);
    // What the second call read is the beginning of what is trained on, id by id.
    const whole = [...(told["prompt_ids"] as number[]), ...ids];
    assert.deepEqual(calls[1]!.prompt, whole.slice(0, calls[1]!.prompt.length));
    assert.equal(calls[0]!.id, calls[1]!.id);
    assert.equal(calls[0]!.sampling["temperature"], 0.8);
    for (const [at, logprob] of (told["response_logprobs"] as number[]).entries())
      assert.equal(logprob, mask[at] === 1 ? -0.25 : 0);
  });
});
