"""Semantic Kernel. pip: semantic-kernel. Modes: tools (an agent as a plugin), code (SequentialOrchestration)."""
from common import BASE, MODE, find, main

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent, SequentialOrchestration
from semantic_kernel.agents.runtime import InProcessRuntime
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Tools:
    @kernel_function(name="lookup", description="Looks up the population of a city.")
    def lookup(self, key: str) -> str:
        return find(key)


async def solve(question, key):
    service = lambda: OpenAIChatCompletion(ai_model_id="scripted", async_client=AsyncOpenAI(base_url=BASE, api_key=key))
    solver = ChatCompletionAgent(service=service(), name="researcher", description="Finds facts.", instructions="You are the researcher.", plugins=[Tools()])
    if MODE == "tools":
        manager = ChatCompletionAgent(service=service(), name="manager", instructions="You are the manager.", plugins=[solver])
        return str((await manager.get_response(messages=question)).content)
    runtime = InProcessRuntime()
    runtime.start()
    research = ChatCompletionAgent(service=service(), name="researcher", description="Finds facts.", instructions="You are the researcher.")
    writer = ChatCompletionAgent(service=service(), name="writer", description="Writes.", instructions="You are the writer.")
    result = await SequentialOrchestration(members=[research, writer]).invoke(task=question, runtime=runtime)
    said = str(await result.get(timeout=60))
    await runtime.stop_when_idle()
    return said


main(solve)
