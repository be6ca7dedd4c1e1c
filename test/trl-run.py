"""GRPO of TRL over chains of our runtime: `<model> <rollouts> <rewards> <tasks.json> <steps> <seed>`. Prints one line of JSON for each step."""

import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", TOKENIZERS_PARALLELISM="false")
import torch
from coa_rollout import chain_reward, chain_rollouts, served_reward
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

folder, rollouts, rewards, tasks, steps, seed = sys.argv[1:7]
noise = 0.25  # of the deviation of each tensor
tasks = json.load(open(tasks))
torch.set_num_threads(1)
model = AutoModelForCausalLM.from_pretrained(folder).float()
torch.manual_seed(int(seed))
with torch.no_grad():
    # The shipped model is nearly always right: noise leaves it something to learn.
    for weights in model.parameters():
        weights.add_(torch.randn_like(weights) * weights.std() * noise)
run = chain_rollouts(rollouts, None, tasks, sampling={"max_tokens": 200})
batches = []


def watched(prompts, trainer):
    """What came back, and how far its log-probabilities are from those of the model that is trained."""
    out = run(prompts, trainer)
    gap = 0.0
    trainer.model.eval()
    with torch.no_grad():
        for prompt, ids, logprobs, mask in zip(*(out[key] for key in ("prompt_ids", "completion_ids", "logprobs", "env_mask"))):
            assert len(ids) == len(logprobs) == len(mask)
            whole = torch.tensor([prompt + ids])
            own = torch.log_softmax(trainer.model(whole).logits[0, len(prompt) - 1 : -1].double(), -1)
            own = own.gather(1, whole[0, len(prompt) :, None])[:, 0].tolist()
            gap = max([gap, *(abs(a - b) for a, b, kept in zip(own, logprobs, mask) if kept)])
    trainer.model.train()
    read = sum(len(mask) - sum(mask) for mask in out["env_mask"])
    batches.append({"rewards": out["chain_reward"], "gap": gap, "sampled": sum(map(sum, out["env_mask"])), "read": read})
    return out


trainer = GRPOTrainer(
    model=model,
    processing_class=AutoTokenizer.from_pretrained(folder),
    train_dataset=Dataset.from_list(tasks),
    reward_funcs=[chain_reward, served_reward(rewards)],
    rollout_func=watched,
    args=GRPOConfig(
        output_dir=os.path.join(os.environ["COA_HOME"], "trl"),
        loss_type="dapo",
        epsilon_high=0.28,
        mask_truncated_completions=True,
        num_generations=4,
        per_device_train_batch_size=8,
        max_steps=int(steps),
        learning_rate=2e-4,
        lr_scheduler_type="constant",
        seed=int(seed),
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
    ),
)
trainer.train()
for batch, log in zip(batches, trainer.state.log_history):
    names = {"chain": "rewards/chain_reward/mean", "served": "rewards/coa_reward/mean", "loss": "loss", "norm": "grad_norm", "clipped": "completions/clipped_ratio"}
    print(json.dumps({**batch, **{name: log[key] for name, key in names.items()}}))
