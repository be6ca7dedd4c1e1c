"""AG2. pip: ag2[openai]. Modes: tools (an agent as a tool), code (two agents in a row)."""
from common import BASE, MODE, find, main

from ag2 import Agent
from ag2.config import OpenAIConfig


def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


async def solve(question, key):
    config = OpenAIConfig(model="scripted", api_key=key, base_url=BASE)
    researcher = Agent("researcher", prompt="You are the researcher.", config=config, tools=[lookup])
    if MODE == "tools":
        manager = Agent("manager", prompt="You are the manager.", config=config, tools=[researcher.as_tool(description="Finds facts.")])
        return (await manager.ask(question)).body
    writer = Agent("writer", prompt="You are the writer.", config=config)
    facts = (await researcher.ask(question)).body
    return (await writer.ask("%s\nFacts: %s" % (question, facts))).body


main(solve)
