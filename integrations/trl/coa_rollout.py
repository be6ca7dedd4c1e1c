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
Without an address it is the trainer's own model, sampled in this process (coa_policy.py): slow, but it needs no GPU.
Tokens that the model only read (observations) carry env_mask 0. A task that could not be judged has the reward None,
which TRL leaves out of the mean; it is never 0. Written for TRL 1.13, whose rollout_func is experimental.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, Callable, Iterable, Mapping

Rollouts = Callable[[list, Any], dict]


def chain_rollouts(
    server: str,
    policy: str | None,
    tasks: Iterable[Mapping[str, Any]],
    *,
    model: str = "policy",
    api_key: str | None = None,
    sampling: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Rollouts:
    """A `rollout_func`: for every prompt of the batch one chain of the task whose question it is."""
    by_question = {_question(task["prompt"] if "prompt" in task else task["question"]): task for task in tasks}
    address = policy

    def rollout_func(prompts: list, trainer: Any) -> dict:
        nonlocal address
        if address is None:
            from coa_policy import serve_policy

            address = serve_policy(trainer.model, trainer.processing_class)
        first = _first_seed(trainer, len(prompts))
        items = []
        for place, prompt in enumerate(prompts):
            question = _question(prompt)
            task = by_question.get(question)
            if task is None:
                raise KeyError(f"no task has the question {question[:80]!r}; give chain_rollouts the training tasks")
            # Copies of a prompt in one batch are its group: each gets a seed of its own, with room for those of its calls.
            seed = (first + place) * 64 % 2**31
            items.append({"question": question, "answers": task["answers"], "seed": seed})
        wanted = {name: _setting(trainer, name, default) for name, default in _sampling}
        request = {"baseURL": address, "model": model, "sampling": {**wanted, **(sampling or {})}, "items": items}
        if api_key is not None:
            request["api_key"] = api_key
        rollouts = post_json(f"{server.rstrip('/')}/rollouts", request, timeout)["rollouts"]
        rollouts = sorted(rollouts, key=lambda one: one["item"])
        if len(rollouts) != len(prompts):
            raise RuntimeError(f"{len(prompts)} chains were asked for, {len(rollouts)} came back")
        end = getattr(getattr(trainer, "processing_class", None), "eos_token_id", None)
        chains = [_ended(one, end) for one in rollouts]
        return {
            "prompt_ids": [one["prompt_ids"] for one in rollouts],
            "completion_ids": [ids for ids, _, _ in chains],
            "logprobs": [logprobs for _, logprobs, _ in chains],
            "env_mask": [mask for _, _, mask in chains],
            "chain_reward": [one["reward"] for one in rollouts],
            "chain_answer": [one["answer"] for one in rollouts],
        }

    return rollout_func


def chain_reward(completions: list, chain_reward: list | None = None, **_: Any) -> list:
    """The reward that came with each chain."""
    if chain_reward is None:
        raise RuntimeError("no reward came with the chains: is chain_rollouts the trainer's rollout_func?")
    return chain_reward


def served_reward(server: str, *, timeout: float | None = None) -> Callable[..., list]:
    """A reward function that asks `coa serve rewards`, for completions of any kind; the data set has a column `answers`."""

    def coa_reward(prompts: list, completions: list, answers: list, chain_answer: list | None = None, **_: Any) -> list:
        # TRL's text of a completion has lost its special tokens: where a chain came with its answer, that is graded.
        said = completions if chain_answer is None else chain_answer
        questions = [_question(prompt) for prompt in prompts]
        asked = {"prompts": questions, "completions": said, "answers": list(answers)}
        return post_json(f"{server.rstrip('/')}/reward/trl", asked, timeout)["rewards"]

    return coa_reward


def post_json(url: str, value: Any, timeout: float | None = None) -> Any:
    """Sends JSON and reads JSON; an error carries what the server said."""
    body = json.dumps(value).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url} answered {error.code}: {error.read().decode(errors='replace')[:500]}") from error


_sampling = (("temperature", 1.0), ("top_p", 1.0), ("top_k", 0))


def _ended(one: Mapping[str, Any], end: int | None) -> tuple[list, list, list]:
    """Ids, log-probabilities and mask. TRL takes what does not end with the end token for cut off, and breaks on nothing at all."""
    ids, logprobs, mask = one["response_ids"], one["response_logprobs"], one["response_mask"]
    if end is None or (ids and one["ending"]["reason"] != "answered"):
        return ids, logprobs, mask
    return [*ids, end], [*logprobs, 0.0], [*mask, 0]


def _first_seed(trainer: Any, count: int) -> int:
    """Different for every step, every process and every seed of a run."""
    step = int(getattr(getattr(trainer, "state", None), "global_step", 0) or 0)
    process = int(getattr(getattr(trainer, "accelerator", None), "process_index", 0) or 0)
    return (int(_setting(trainer, "seed", 0)) * 7919 + step) * 1_000_003 + process * count


def _question(prompt: Any) -> str:
    """The text of a prompt: itself, or the last message of the user."""
    if isinstance(prompt, str):
        return prompt
    return next(message["content"] for message in reversed(prompt) if message["role"] == "user")


def _setting(trainer: Any, name: str, default: Any) -> Any:
    value = getattr(getattr(trainer, "args", None), name, None)
    return default if value is None else value
