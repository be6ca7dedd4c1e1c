"""verl's reward function by `coa serve rewards`, for completions of verl's own agent loops.

    reward.custom_reward_function.path=integrations/verl/coa_reward.py
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.server=http://127.0.0.1:4246

verl knows no undecided reward: it is 0 with `undecided` 1, so that the share of them can be watched.
"""

from __future__ import annotations

import os
from typing import Any

from coa_http import post

_sent = ("question", "kind", "task")


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: dict[str, Any] | None = None,
    server: str | None = None,
    **_: Any,
) -> dict[str, float]:
    """The score of one completion, with what verl logs beside it."""
    address = (server or os.environ.get("COA_REWARDS", "http://127.0.0.1:4246")).rstrip("/")
    extra = {name: value for name, value in (extra_info or {}).items() if name in _sent and value is not None}
    asked = {"solution_str": solution_str, "ground_truth": ground_truth, "extra_info": extra}
    verdict = await post(f"{address}/reward/verl", asked)
    score = verdict["score"]
    return {"score": float(score or 0), "acc": float(verdict["correct"] is True), "undecided": float(score is None)}
