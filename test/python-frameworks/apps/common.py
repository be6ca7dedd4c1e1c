"""What the programs share: questions, the tool, and the loop of tasks. Each program defines solve(question, key)."""
import asyncio
import itertools
import os
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

BASE = os.environ["OPENAI_BASE_URL"]
MODE = os.environ.get("MODE", "tools")
LOAD = os.environ.get("LOAD", "one")
CITIES = ["Oslo", "Lima", "Accra", "Hanoi"]
_count = itertools.count(1)
_lock = threading.Lock()


def find(city):
    """What the tool of every program says; each result has a mark of its own."""
    with _lock:
        mark = next(_count)
    index = next((at for at, name in enumerate(CITIES) if name.lower() in city.lower()), 0)
    return "%s has %d people. [s%d]" % (CITIES[index], 100000 + 1111 * index, mark)


def trace(instrumentor):
    """Spans over HTTP where the cell asks for them, as the instrumentors' own documentation does it."""
    if not os.environ.get("OTLP"):
        return
    import importlib

    from opentelemetry import trace as api
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(os.environ["OTLP"] + "/v1/traces")))
    api.set_tracer_provider(provider)
    if instrumentor:
        module, name = instrumentor.split(":")
        getattr(importlib.import_module(module), name)().instrument(tracer_provider=provider)


def main(solve):
    """One task, four identical ones at once, or three after each other; the key of each says which it is."""
    count = {"one": 1, "four": 4, "three": 3}[LOAD]
    tasks = []
    for at in range(count):
        index = 0 if LOAD == "four" else at
        question = "T%d: What is the population of %s times %d?" % (index, CITIES[index], index + 2)
        tasks.append((question, "sk-task-%d" % at, str((100000 + 1111 * index) * (index + 2))))
    if asyncio.iscoroutinefunction(solve):

        async def all_tasks():
            if LOAD == "four":
                return await asyncio.gather(*[solve(question, key) for question, key, _ in tasks])
            return [await solve(question, key) for question, key, _ in tasks]

        said = asyncio.run(all_tasks())
    elif LOAD == "four":
        with ThreadPoolExecutor(count) as pool:
            said = list(pool.map(lambda task: solve(task[0], task[1]), tasks))
    else:
        said = [solve(question, key) for question, key, _ in tasks]
    right = 0
    for (_, _, wanted), answer in zip(tasks, said):
        right += wanted in str(answer)
    print("ANSWERED %d of %d" % (right, count), flush=True)
    if right < count:
        print(said)
        sys.exit(1)
