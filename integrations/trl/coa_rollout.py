"""TRL trains the model, `coa serve rollouts` runs its chains with real tools and grades them.

    from coa_rollout import chain_reward, chain_rollouts

    trainer = GRPOTrainer(
        model="Qwen/Qwen2.5-7B-Instruct",
        train_dataset=tasks,  # rows with a `prompt` (the question) and `answers`
        reward_funcs=chain_reward,
        rollout_func=chain_rollouts("http://127.0.0.1:4245", "http://127.0.0.1:8000/v1", tasks),
        args=GRPOConfig(loss_type="dapo", epsilon_high=0.28, use_vllm=True, vllm_mode="server", ...),
    )

The policy is reached at its own OpenAI-compatible server (vLLM in server mode, or any that takes and gives token ids).
Tokens that the model only read (observations) carry env_mask 0. A task that nobody could judge has the reward None,
which TRL leaves out of the mean; it is never 0.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, Callable, Iterable, Mapping

Rollouts = Callable[[list, Any], dict]


def chain_rollouts(
    server: str,
    policy: str,
    tasks: Iterable[Mapping[str, Any]],
    *,
    model: str = "policy",
    api_key: str | None = None,
    sampling: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Rollouts:
    """A `rollout_func`: for every prompt of the batch one chain of the task whose question it is."""
    by_question = {_question(task["prompt"] if "prompt" in task else task["question"]): task for task in tasks}

    def rollout_func(prompts: list, trainer: Any) -> dict:
        step = int(getattr(getattr(trainer, "state", None), "global_step", 0) or 0)
        items = []
        for place, prompt in enumerate(prompts):
            question = _question(prompt)
            task = by_question.get(question)
            if task is None:
                raise KeyError(f"no task has the question {question[:80]!r}; give chain_rollouts the training tasks")
            # Copies of a prompt in one batch are its group: each gets a seed of its own.
            seed = step * 1_000_003 + place
            items.append({"question": question, "answers": list(task["answers"]), "seed": seed})
        wanted = {"temperature": _setting(trainer, "temperature", 1.0), **(sampling or {})}
        request = {"baseURL": policy, "model": model, "sampling": wanted, "items": items}
        if api_key is not None:
            request["api_key"] = api_key
        rollouts = post_json(f"{server.rstrip('/')}/rollouts", request, timeout)["rollouts"]
        rollouts = sorted(rollouts, key=lambda one: one["item"])
        if len(rollouts) != len(prompts):
            raise RuntimeError(f"{len(prompts)} chains were asked for, {len(rollouts)} came back")
        return {
            "prompt_ids": [one["prompt_ids"] for one in rollouts],
            "completion_ids": [one["response_ids"] for one in rollouts],
            "logprobs": [one["response_logprobs"] for one in rollouts],
            "env_mask": [one["response_mask"] for one in rollouts],
            "chain_reward": [one["reward"] for one in rollouts],
        }

    return rollout_func


def chain_reward(completions: list, chain_reward: list | None = None, **_: Any) -> list:
    """The reward that came with each chain."""
    if chain_reward is None:
        raise RuntimeError("no reward came with the chains: is chain_rollouts the trainer's rollout_func?")
    return chain_reward


def post_json(url: str, value: Any, timeout: float | None = None) -> Any:
    """Sends JSON and reads JSON; an error carries what the server said."""
    body = json.dumps(value).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url} answered {error.code}: {error.read().decode(errors='replace')[:500]}") from error


def _question(prompt: Any) -> str:
    """The text of a prompt: itself, or the last message of the user."""
    if isinstance(prompt, str):
        return prompt
    return next(message["content"] for message in reversed(prompt) if message["role"] == "user")


def _setting(trainer: Any, name: str, default: Any) -> Any:
    value = getattr(getattr(trainer, "args", None), name, None)
    return default if value is None else value
