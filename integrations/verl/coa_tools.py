"""Tools of `coa serve tools` for verl's own tool agent; tool_config.yaml beside this file declares them."""

from __future__ import annotations

from typing import Any

from coa_http import post
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import ToolResponse


class CoaTool(BaseTool):
    """One tool by its name: verl's arguments go to the server as they are, and its answer is the observation."""

    async def execute(self, instance_id: str, parameters: dict[str, Any], **_: Any) -> tuple[ToolResponse, float, dict]:
        server = self.config.get("server", "http://127.0.0.1:4244").rstrip("/")
        result = await post(f"{server}/tools/{self.name}", {"input": parameters})
        return ToolResponse(text=result["output"]), 0.0, {"ok": float(result["ok"]), "ms": result["ms"]}
