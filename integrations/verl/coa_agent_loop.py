"""verl trains the model, `coa serve rollouts` runs its chains with real tools and grades them.

Each worker process opens one loopback endpoint that hands token ids to verl's own server manager, so load balancing,
partial rollouts and weight versions stay verl's. A row of the data set needs `question` (or `raw_prompt`) and `answers`.
See agent_loop.yaml beside this file for the settings.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.request
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register


@register("coa_chain")
class CoaAgentLoop(AgentLoopBase):
    """One chain: all roles, tool calls and observations of a task in one sequence."""

    def __init__(self, *args: Any, server: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rollout_server = (server or os.environ.get("COA_ROLLOUTS", "http://127.0.0.1:4245")).rstrip("/")
        self.response_length = self.config.actor_rollout_ref.rollout.response_length

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        endpoint = await policy_endpoint(self.server_manager, self.tokenizer)
        sampling = {name: sampling_params[name] for name in ("temperature", "top_p", "top_k") if name in sampling_params}
        item = {"question": _question(row), "answers": _answers(row), "seed": _seed(row)}
        request = {"baseURL": endpoint, "model": "policy", "sampling": sampling, "items": [item]}
        answer = await asyncio.to_thread(_post, f"{self.rollout_server}/rollouts", request)
        one = answer["rollouts"][0]
        cut = self.response_length
        output = AgentLoopOutput(
            prompt_ids=one["prompt_ids"],
            response_ids=one["response_ids"][:cut],
            response_mask=one["response_mask"][:cut],
            response_logprobs=one["response_logprobs"][:cut],
            # verl knows no undecided reward: 0 for it, and the fact itself in the extra fields.
            reward_score=0.0 if one["reward"] is None else float(one["reward"]),
            num_turns=one["turns"],
            metrics={},
        )
        output.extra_fields.update(
            {"coa_undecided": one["reward"] is None, "coa_ending": one["ending"], "turn_scores": [], "tool_rewards": []}
        )
        return output


_endpoints: dict[int, str] = {}


async def policy_endpoint(server_manager: Any, tokenizer: Any) -> str:
    """The address of this process's `/v1/completions`; opened at the first call."""
    key = id(server_manager)
    if key not in _endpoints:
        server = await asyncio.start_server(
            lambda reader, writer: _serve(reader, writer, server_manager, tokenizer), "127.0.0.1", 0, limit=1 << 26
        )
        _endpoints[key] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    return _endpoints[key]


async def _serve(reader: Any, writer: Any, server_manager: Any, tokenizer: Any) -> None:
    """One request per connection: plain HTTP/1.1, JSON in and out."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if head[0].startswith("POST ") and "/completions" in head[0]:
            status, value = await _complete(json.loads(body), headers, server_manager, tokenizer)
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


async def _complete(body: dict, headers: dict, server_manager: Any, tokenizer: Any) -> tuple[int, dict]:
    sampling = {name: body[name] for name in ("temperature", "top_p", "top_k", "max_tokens", "stop", "seed") if name in body}
    sampling |= {"logprobs": True, "include_stop_str_in_output": True, "skip_special_tokens": False}
    try:
        output = await server_manager.generate(
            # All calls of one chain go to the same replica, whose prefix cache holds what came before.
            request_id=headers.get("x-session-id") or uuid4().hex,
            prompt_ids=body["prompt"],
            sampling_params=sampling,
        )
    except Exception as error:  # the runtime retries what may work again, and names the cause otherwise
        return 500, {"error": {"message": str(error)}}
    ids = list(output.token_ids)
    stopped = len(ids) < int(body.get("max_tokens") or 0) or getattr(output, "stop_reason", None) == "completed"
    choice = {
        "index": 0,
        "text": tokenizer.decode(ids),
        "token_ids": ids,
        "logprobs": {"token_logprobs": list(output.log_probs or [])},
        "finish_reason": "stop" if stopped else "length",
    }
    usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": len(ids)}
    return 200, {"id": uuid4().hex, "object": "text_completion", "choices": [choice], "usage": usage}


def _post(url: str, value: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(value).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url} answered {error.code}: {error.read().decode(errors='replace')[:500]}") from error


def _question(row: dict) -> str:
    if "question" in row:
        return str(row["question"])
    return next(message["content"] for message in reversed(list(row["raw_prompt"])) if message["role"] == "user")


def _answers(row: dict) -> list[str]:
    found = row.get("answers") or (row.get("reward_model") or {}).get("ground_truth")
    if found is None:
        raise KeyError("a row needs `answers`, or `reward_model.ground_truth`")
    return [found] if isinstance(found, str) else [str(one) for one in found]


def _seed(row: dict) -> int:
    return int(row.get("index", 0)) * 1_000_003 + int(row.get("rollout_n", 0))
