"""verl trains the model, `coa serve rollouts` runs its chains with real tools and grades them.

Each worker process opens one loopback endpoint that hands token ids to verl's own server manager, so load balancing,
partial rollouts and weight versions stay verl's. A row of the data set needs `question` (or `raw_prompt`) and `answers`.
See agent_loop.yaml beside this file for the settings. Written for verl 0.10 (0.7 and later have what it uses).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from typing import Any
from uuid import uuid4

from coa_http import post
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput


class CoaAgentLoop(AgentLoopBase):
    """One chain: all roles, tool calls and observations of a task in one sequence."""

    def __init__(self, *args: Any, server: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rollout_server = (server or os.environ.get("COA_ROLLOUTS", "http://127.0.0.1:4245")).rstrip("/")
        self.rollout = self.config.actor_rollout_ref.rollout

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        endpoint = await policy_endpoint(self.server_manager, self.tokenizer, self.rollout)
        sampling = {name: sampling_params[name] for name in ("temperature", "top_p", "top_k") if name in sampling_params}
        item = {"question": _question(row), "answers": _answers(row), "seed": _seed(row)}
        request = {"baseURL": endpoint.address, "model": "policy", "sampling": sampling, "items": [item]}
        answer = await post(f"{self.rollout_server}/rollouts", request)
        one = answer["rollouts"][0]
        if len(one["prompt_ids"]) > self.rollout.prompt_length:
            room = f"rollout.prompt_length is {self.rollout.prompt_length}"
            raise ValueError(f"the prompt of a chain has {len(one['prompt_ids'])} tokens and {room}: raise it")
        cut = self.rollout.response_length
        undecided = one["reward"] is None
        ids, mask, logprobs = one["response_ids"][:cut], one["response_mask"][:cut], one["response_logprobs"][:cut]
        if not ids:  # verl puts the reward on the last token, so there must be one
            ids, mask, logprobs = [self.tokenizer.eos_token_id], [0], [0.0]
        oldest, newest = endpoint.versions.pop(one["id"], (None, None))
        return AgentLoopOutput(
            prompt_ids=one["prompt_ids"],
            response_ids=ids,
            # verl knows no undecided reward: such a chain is 0 for the mean of its group, and teaches nothing.
            response_mask=[0] * len(mask) if undecided else mask,
            response_logprobs=logprobs,
            reward_score=0.0 if undecided else float(one["reward"]),
            multi_modal_data={},
            num_turns=one["turns"],
            metrics={},
            extra_fields={
                "coa_undecided": undecided,
                "coa_ending": one["ending"]["reason"],
                "turn_scores": [],
                "tool_rewards": [],
                "min_global_steps": oldest,
                "max_global_steps": newest,
            },
        )


class Endpoint:
    """The address of this process's `/v1/completions`, and which weights wrote each chain."""

    def __init__(self, server_manager: Any, tokenizer: Any, rollout: Any) -> None:
        self.server_manager, self.tokenizer, self.rollout = server_manager, tokenizer, rollout
        self.address = ""
        self.versions: dict[str, tuple[int, int]] = {}

    def wrote(self, chain: str, fields: dict) -> None:
        step = fields.get("global_steps")
        oldest, newest = fields.get("min_global_steps", step), fields.get("max_global_steps", step)
        if oldest is None or newest is None:
            return
        before = self.versions.get(chain, (oldest, newest))
        self.versions[chain] = (min(before[0], oldest), max(before[1], newest))


_endpoints: dict[int, Endpoint] = {}


async def policy_endpoint(server_manager: Any, tokenizer: Any, rollout: Any) -> Endpoint:
    """The endpoint of this process; opened at the first call."""
    key = id(server_manager)
    if key not in _endpoints:
        endpoint = _endpoints[key] = Endpoint(server_manager, tokenizer, rollout)
        server = await asyncio.start_server(
            lambda reader, writer: _serve(reader, writer, endpoint), "127.0.0.1", 0, limit=1 << 26
        )
        endpoint.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    while not _endpoints[key].address:  # another chain opens it
        await asyncio.sleep(0.01)
    return _endpoints[key]


async def _serve(reader: Any, writer: Any, endpoint: Endpoint) -> None:
    """One request per connection: plain HTTP/1.1, JSON in and out."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if head[0].startswith("POST ") and "/completions" in head[0]:
            status, value = await _complete(json.loads(body), headers, endpoint)
        else:
            status, value = 404, {"error": {"message": "only POST /v1/completions is served here"}}
        data = json.dumps(value).encode()
        reply = f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
        writer.write(reply.encode() + data)
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the runtime left: its chain was stopped
    finally:
        writer.close()


async def _complete(body: dict, headers: dict, endpoint: Endpoint) -> tuple[int, dict]:
    sampling = {name: body[name] for name in ("temperature", "top_p", "top_k", "max_tokens", "stop") if name in body}
    sampling |= {"logprobs": True, "skip_special_tokens": False}
    if endpoint.rollout.name == "vllm":  # SGLang gives the ids of stop strings anyway, and has no seed of a request
        sampling |= {"include_stop_str_in_output": True, **({"seed": body["seed"]} if "seed" in body else {})}
    chain = headers.get("x-session-id") or uuid4().hex
    try:
        # All calls of one chain go to the same replica, whose prefix cache holds what came before.
        output = await endpoint.server_manager.generate(
            request_id=chain, prompt_ids=body["prompt"], sampling_params=sampling
        )
    except Exception as error:  # the runtime retries what may work again, and names the cause otherwise
        return 500, {"error": {"message": str(error)}}
    ids = list(output.token_ids)
    if getattr(output, "stop_reason", None) == "aborted":  # weights were changed meanwhile: asked again
        return 503, {"error": {"message": "generation was aborted"}}
    endpoint.wrote(chain, getattr(output, "extra_fields", None) or {})
    text = endpoint.tokenizer.decode(ids)
    choice = {
        "index": 0,
        "text": text,
        "token_ids": ids,
        "logprobs": {"token_logprobs": list(output.log_probs or [])},
        "finish_reason": "length" if _cut_off(ids, text, body, endpoint) else "stop",
    }
    usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": len(ids)}
    return 200, {"id": uuid4().hex, "object": "text_completion", "choices": [choice], "usage": usage}


def _cut_off(ids: list[int], text: str, body: dict, endpoint: Endpoint) -> bool:
    """Whether room ended rather than the text: verl calls both completed."""
    stops = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []
    if ids[-1:] == [endpoint.tokenizer.eos_token_id] or any(text.rstrip().endswith(stop) for stop in stops):
        return False
    rollout = endpoint.rollout
    window = getattr(rollout, "max_model_len", None) or rollout.prompt_length + rollout.response_length
    return len(ids) >= int(body.get("max_tokens") or window) or len(body["prompt"]) + len(ids) >= window


def _question(row: dict) -> str:
    if "question" in row:
        return str(row["question"])
    return next(message["content"] for message in reversed(list(row["raw_prompt"])) if message["role"] == "user")


def _answers(row: dict) -> Any:
    """The right answers as the row has them: the server knows the shapes of data sets."""
    found = row.get("answers")
    if found is None:
        found = (row.get("reward_model") or {}).get("ground_truth")
    if found is None:
        raise KeyError("a row needs `answers`, or `reward_model.ground_truth`")
    return found


def _seed(row: dict) -> int:
    """A seed of its own for every chain: rows of one group are alike, so none can be made from them."""
    return int(row["seed"]) if "seed" in row else random.getrandbits(31)
