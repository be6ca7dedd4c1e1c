"""Every HTTP client that the recorder follows, one call with each, every one after the reply before it; then threads and processes."""
import asyncio
import json
import os
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

BASE = os.environ["TEST_SERVER"]
URL = BASE + "/v1/chat/completions"


def body(name):
    return {"model": "m", "messages": [{"role": "user", "content": name}]}


def ask(name):
    request = urllib.request.Request(URL, json.dumps(body(name)).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))


async def with_aiohttp():
    import aiohttp

    async with aiohttp.ClientSession() as session:
        async with session.post(URL, json=body("aiohttp")) as reply:
            return await reply.json()


async def with_httpx():
    import httpx

    async with httpx.AsyncClient() as client:
        return (await client.post(URL, json=body("httpx"))).json()


def main():
    import boto3
    import httpx2
    import requests
    import urllib3
    from botocore.config import Config

    ask("urllib")
    asyncio.run(with_httpx())
    httpx2.post(URL, json=body("httpx2"))
    requests.post(URL, json=body("requests"))
    urllib3.PoolManager().request("POST", URL, json=body("urllib3"))
    asyncio.run(with_aiohttp())
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    bedrock = boto3.client("bedrock-runtime", endpoint_url=BASE, config=Config(retries={"max_attempts": 0}), **keys)
    bedrock.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "botocore"}]}])
    thread = threading.Thread(target=ask, args=("thread",))
    thread.start()
    thread.join()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ask, "executor").result()
    import coa

    with coa.run("ticket"):
        subprocess.run([sys.executable, __file__, "child"], check=True)
        with ProcessPoolExecutor(1) as pool:
            pool.submit(ask, "pool").result()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ask(sys.argv[1])
    else:
        main()
