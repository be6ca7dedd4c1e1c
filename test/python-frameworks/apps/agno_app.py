"""Agno. pip: agno openai. Modes: tools (a team), code (two agents in a row)."""
import os

os.environ["AGNO_TELEMETRY"] = "false"
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.agno:AgnoInstrumentor")
from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from agno.team import Team


def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


async def solve(question, key):
    model = lambda: OpenAILike(id="scripted", base_url=BASE, api_key=key)
    researcher = Agent(name="researcher", id="researcher", model=model(), tools=[lookup], instructions="You are the researcher.")
    if MODE == "tools":
        team = Team(name="manager", model=model(), members=[researcher], instructions="You are the manager.")
        return (await team.arun(question)).content
    writer = Agent(name="writer", model=model(), instructions="You are the writer.")
    facts = (await researcher.arun(question)).content
    return (await writer.arun("%s\nFacts: %s" % (question, facts))).content


main(solve)
