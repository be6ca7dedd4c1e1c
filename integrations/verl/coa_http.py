"""JSON over HTTP to the servers of `coa`, for the other files of this folder."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# A chain waits for minutes: asyncio's own pool of some ten threads would let only so many run.
_waiting = ThreadPoolExecutor(max_workers=1024, thread_name_prefix="coa")


async def post(url: str, value: Any) -> Any:
    """Sends JSON and reads JSON; an error carries what the server said."""
    return await asyncio.get_running_loop().run_in_executor(_waiting, _post, url, value)


def _post(url: str, value: Any) -> Any:
    body = json.dumps(value, default=_plain).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url} answered {error.code}: {error.read().decode(errors='replace')[:500]}") from error


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy, of which verl's rows are full."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be sent as JSON")
