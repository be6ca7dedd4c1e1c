"""The model that a trainer holds, behind `/v1/completions` with token ids in and out: for training without vLLM.

Requests that wait together are sampled together. It is for one process whose model is whole (no FSDP, no DeepSpeed ZeRO-3);
with several, or with a large model, use vLLM in server mode and give `chain_rollouts` its address.
"""

from __future__ import annotations

import json
import queue
import threading
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch

largest_batch = 64


def serve_policy(model: Any, tokenizer: Any) -> str:
    """Starts the endpoint on a free port of this machine and gives its address; it ends with the process."""
    jobs: queue.Queue = queue.Queue()

    def work() -> None:
        while True:
            batch = [jobs.get()]
            while len(batch) < largest_batch and not jobs.empty():
                batch.append(jobs.get())
            try:
                for (_, done), choice in zip(batch, sample([body for body, _ in batch], model, tokenizer)):
                    done.set_result(choice)
            except Exception as error:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            done: Future = Future()
            jobs.put((body, done))
            try:
                choice = done.result()
                usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": len(choice["token_ids"])}
                self.reply(200, {"object": "text_completion", "choices": [choice], "usage": usage})
            except Exception as error:
                self.reply(400, {"error": {"message": f"{type(error).__name__}: {error}"}})

        def reply(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    for run in (server.serve_forever, work):
        threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


@torch.no_grad()
def sample(bodies: list[dict], model: Any, tokenizer: Any) -> list[dict]:
    """One completion of each prompt. Log-probabilities are those of the distribution at the temperature, before top-p and top-k."""
    training, device = model.training, next(model.parameters()).device
    model.eval()
    try:
        rows = [_Row(body, tokenizer, device) for body in bodies]
        width = max(len(body["prompt"]) for body in bodies)
        ids = torch.tensor([[0] * (width - len(body["prompt"])) + body["prompt"] for body in bodies], device=device)
        mask = torch.tensor([[0] * (width - len(b["prompt"])) + [1] * len(b["prompt"]) for b in bodies], device=device)
        cache = None
        while any(row.finish is None for row in rows):
            places = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
            out = model(input_ids=ids, attention_mask=mask, position_ids=places, past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            ids = torch.tensor([[row.take(logits)] for row, logits in zip(rows, out.logits[:, -1].float())], device=device)
            mask = torch.cat([mask, torch.ones_like(ids)], 1)
        return [row.choice() for row in rows]
    finally:
        model.train(training)


class _Row:
    """One completion as it grows."""

    def __init__(self, body: dict, tokenizer: Any, device: Any) -> None:
        self.tokenizer = tokenizer
        self.room = int(body.get("max_tokens") or 16)
        self.temperature = float(body.get("temperature", 1.0))
        self.top_p, self.top_k = float(body.get("top_p") or 1.0), int(body.get("top_k") or 0)
        stop = body.get("stop") or []
        self.stop = [stop] if isinstance(stop, str) else stop
        self.random = torch.Generator(device=device)
        if body.get("seed") is None:
            self.random.seed()
        else:
            self.random.manual_seed(int(body["seed"]))
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.finish: str | None = None

    def take(self, logits: torch.Tensor) -> int:
        """Draws the next token; a finished row reads its last again, which is never seen."""
        if self.finish is not None:
            return self.tokens[-1]
        logprobs = torch.log_softmax(logits / (self.temperature or 1.0), -1)
        token = int(logits.argmax()) if self.temperature == 0 else self.draw(logprobs)
        self.tokens.append(token)
        self.logprobs.append(float(logprobs[token]))
        tail = self.tokenizer.decode(self.tokens[-64:])
        if token == self.tokenizer.eos_token_id or any(text in tail for text in self.stop):
            self.finish = "stop"
        elif len(self.tokens) >= self.room:
            self.finish = "length"
        return token

    def draw(self, logprobs: torch.Tensor) -> int:
        chances, order = logprobs.exp().sort(descending=True)
        if self.top_k > 0:
            chances[self.top_k :] = 0
        chances[chances.cumsum(0) - chances >= self.top_p] = 0
        return int(order[torch.multinomial(chances, 1, generator=self.random)])

    def choice(self) -> dict:
        logprobs = {"token_logprobs": self.logprobs}
        text = self.tokenizer.decode(self.tokens)
        return {"index": 0, "text": text, "token_ids": self.tokens, "logprobs": logprobs, "finish_reason": self.finish}
