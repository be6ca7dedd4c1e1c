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
import { rewardHandler } from "../src/serve/reward-handler.ts";
import { rolloutHandler } from "../src/serve/rollout-handler.ts";
import { serve } from "../src/serve/serve.ts";
import { toolHandler } from "../src/serve/tool-handler.ts";
import { tableTool } from "../src/testing/index.ts";
import { byteTokenizer } from "./fixtures/conformance/byte-tokenizer.ts";
import { startModelServer } from "./fixtures/model-server.ts";

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
  const clients = openPolicyClients(tokenizer, { retries: 1 });
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
tasks = [{"prompt": "Where does Ada live?", "answers": "Lyon"}, {"prompt": "Where does Ada work?", "answers": {"target": ["Paris"]}}]
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

  it("gives TRL a group of different chains, ended ones with its end token, and rewards of our reward server", async () => {
    const rewards = await serve(rewardHandler({ grader: taskGrader() }), {});
    try {
      const told = await python(
        "trl",
        `
import json
from types import SimpleNamespace
from coa_rollout import chain_rollouts, served_reward
tasks = [{"prompt": "Where does Ada live?", "answers": ["Lyon"]}]
run = chain_rollouts("${server.origin}", "${policy.url}", tasks)
def trainer(**fields): return SimpleNamespace(args=SimpleNamespace(temperature=1.0, seed=fields.get("seed", 0)), state=SimpleNamespace(global_step=fields.get("step", 0)), accelerator=SimpleNamespace(process_index=fields.get("process", 0)), processing_class=SimpleNamespace(eos_token_id=7))
group = ["Where does Ada live?"] * 2
out = [run(group, trainer(**fields)) for fields in ({}, {"step": 1}, {"process": 1}, {"seed": 1})]
reward = served_reward("${rewards.origin}")(prompts=group, completions=["?", "?"], answers=[["Lyon"], ["Paris"]], chain_answer=out[0]["chain_answer"], trainer_state=None)
print(json.dumps({"ends": [ids[-1] for ids in out[0]["completion_ids"]], "masks": [mask[-1] for mask in out[0]["env_mask"]], "reward": reward, "plain": served_reward("${rewards.origin}")(prompts=group[:1], completions=["<answer>Lyon</answer>"], answers=[["Lyon"]])}))`,
      );
      assert.deepEqual(told, { ends: [7, 7], masks: [0, 0], reward: [1, 0], plain: [1] });
      const seeds = policy.requests.slice(-16).map(({ body }) => body["seed"]);
      assert.equal(new Set(seeds).size, 16, "a seed for each call of each chain, step, process and run");
    } finally {
      await rewards.stop(1000);
    }
  });

  /** Stand-ins with the names and fields of verl's own modules. */
  const verl = `
import asyncio, json, sys
from types import ModuleType, SimpleNamespace
class AgentLoopBase:
    def __init__(self, trainer_config, server_manager, tokenizer, processor, dataset_cls, data_config, hf_model_type=None, **kwargs):
        self.config, self.server_manager, self.tokenizer = trainer_config.config, server_manager, tokenizer
class AgentLoopOutput:
    def __init__(self, *, prompt_ids, response_ids, response_mask, metrics, response_logprobs=None, multi_modal_data=None, reward_score=None, num_turns=0, extra_fields={}): vars(self).update({k: v for k, v in locals().items() if k != "self"})
class BaseTool:
    def __init__(self, config, tool_schema): self.config, self.tool_schema, self.name = config, tool_schema, tool_schema.function.name
modules = {"verl.experimental.agent_loop.agent_loop": dict(AgentLoopBase=AgentLoopBase, AgentLoopOutput=AgentLoopOutput), "verl.tools.base_tool": dict(BaseTool=BaseTool), "verl.tools.schemas": dict(ToolResponse=SimpleNamespace)}
for name in ("verl", "verl.experimental", "verl.experimental.agent_loop", "verl.tools", *modules):
    sys.modules[name] = ModuleType(name)
for name, members in modules.items(): vars(sys.modules[name]).update(members)
`;

  it("runs a chain for verl against its own server manager, every call of a chain under one id", async () => {
    const told = await python(
      "verl",
      `${verl}
from coa_agent_loop import CoaAgentLoop
calls, aborted = [], []
class Manager:
    async def generate(self, request_id, *, prompt_ids, sampling_params):
        if not aborted:
            aborted.append(request_id)
            return SimpleNamespace(token_ids=[], log_probs=None, stop_reason="aborted", extra_fields={"global_steps": 2})
        calls.append({"id": request_id, "prompt": prompt_ids, "sampling": dict(sampling_params)})
        text = ${JSON.stringify(found)} if "Ada lives in Lyon." in bytes(prompt_ids).decode() else ${JSON.stringify(looks)}
        ids = list(text.encode())[:sampling_params["max_tokens"]]
        return SimpleNamespace(token_ids=ids, log_probs=[-0.25] * len(ids), stop_reason="completed", extra_fields={"global_steps": 2 + len(calls)})
tokenizer = SimpleNamespace(decode=lambda ids: bytes(ids).decode(), eos_token_id=0)
def loop(**rollout):
    config = SimpleNamespace(actor_rollout_ref=SimpleNamespace(rollout=SimpleNamespace(**{"name": "vllm", "prompt_length": 4096, "response_length": 4096, "max_model_len": None, **rollout})))
    return CoaAgentLoop(trainer_config=SimpleNamespace(config=config), server_manager=manager, tokenizer=tokenizer, processor=None, hf_model_type=None, dataset_cls=None, data_config=SimpleNamespace(config={}), tools=None, name="coa_chain", server="${server.origin}")
manager = Manager()
row = dict(question="Where does Ada live?", answers=["Lyon"], index=4)
async def all():
    out = await loop().run({"temperature": 0.8, "top_p": 1.0}, **row)
    first = list(calls)
    await asyncio.gather(*(loop().run({}, **row) for _ in range(3)))
    short = "nothing"
    try: await loop(prompt_length=8).run({}, **row)
    except ValueError as error: short = str(error)
    target = await loop().run({}, question=row["question"], reward_model={"ground_truth": {"target": ["Lyon"]}}, index=4)
    return {**vars(out), "target": target.reward_score, "calls": first, "seeds": [call["sampling"]["seed"] for call in calls[:10]], "short": short}
print(json.dumps(asyncio.run(all())))`,
    );
    const ids = told["response_ids"] as number[];
    const mask = told["response_mask"] as number[];
    const calls = told["calls"] as { id: string; prompt: number[]; sampling: Record<string, unknown> }[];
    assert.equal(told["reward_score"], 1);
    assert.equal(told["target"], 1, "the gold of Search-R1");
    assert.equal(told["num_turns"], 2);
    assert.equal(tokenizer.decode(ids.filter((_, at) => mask[at] === 1)), looks + found);
    assert.deepEqual(calls[0]!.prompt, told["prompt_ids"]);
    // What the second call read is the beginning of what is trained on, id by id.
    const whole = [...(told["prompt_ids"] as number[]), ...ids];
    assert.deepEqual(calls[1]!.prompt, whole.slice(0, calls[1]!.prompt.length));
    assert.equal(calls[0]!.id, calls[1]!.id);
    assert.equal(calls[0]!.sampling["temperature"], 0.8);
    const { min_global_steps, max_global_steps } = told["extra_fields"] as Record<string, number>;
    assert.deepEqual([min_global_steps, max_global_steps], [3, 4], "which weights wrote it");
    assert.equal(new Set(told["seeds"] as number[]).size, 10, "rows of a group are alike, their chains are not");
    assert.match(String(told["short"]), /the prompt of a chain has \d+ tokens and rollout.prompt_length is 8/);
    for (const [at, logprob] of (told["response_logprobs"] as number[]).entries())
      assert.equal(logprob, mask[at] === 1 ? -0.25 : 0);
  });

  it("gives verl scores and tools over HTTP", async () => {
    const rewards = await serve(rewardHandler({ grader: taskGrader() }), {});
    const tools = await serve(toolHandler({ tools: [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")] }), {});
    try {
      const told = await python(
        "verl",
        `${verl}
from coa_reward import compute_score
from coa_tools import CoaTool
async def all():
    score = lambda text, truth: compute_score("lab", text, truth, extra_info={"question": "Where?", "num_turns": object()}, server="${rewards.origin}")
    tool = CoaTool(config={"server": "${tools.origin}"}, tool_schema=SimpleNamespace(function=SimpleNamespace(name="wiki_search")))
    said, reward, metrics = await tool.execute("1", {"query": "Ada"})
    return {"right": await score("<answer>Lyon</answer>", ["Lyon"]), "wrong": await score("Paris", "Lyon"), "text": said.text, "reward": reward, "ok": metrics["ok"]}
print(json.dumps(asyncio.run(all())))`,
      );
      assert.deepEqual(told["right"], { score: 1, acc: 1, undecided: 0 });
      assert.deepEqual(told["wrong"], { score: 0, acc: 0, undecided: 0 });
      assert.deepEqual([told["text"], told["reward"], told["ok"]], ["Ada lives in Lyon.", 0, 1]);
    } finally {
      await rewards.stop(1000);
      await tools.stop(1000);
    }
  });
});
