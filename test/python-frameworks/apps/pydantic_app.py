"""Pydantic AI. pip: pydantic-ai-slim[openai]. Modes: tools (delegation in a tool), code (two agents in a row)."""
import os

from common import BASE, MODE, find, main, trace

trace(None)
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

if os.environ.get("OTLP"):
    Agent.instrument_all()


async def solve(question, key):
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=BASE, api_key=key))
    research = Agent(model, name="researcher", system_prompt="You are the researcher.")

    @research.tool_plain
    def lookup(key: str) -> str:
        """Looks up the population of a city."""
        return find(key)

    if MODE == "code":
        writer = Agent(model, name="writer", system_prompt="You are the writer.")
        facts = (await research.run(question)).output
        return (await writer.run("%s\nFacts: %s" % (question, facts))).output
    manager = Agent(model, name="manager", system_prompt="You are the manager.")

    @manager.tool_plain
    async def researcher(task: str) -> str:
        """Finds facts."""
        return (await research.run(task)).output

    return (await manager.run(question)).output


main(solve)
