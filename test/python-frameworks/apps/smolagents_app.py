"""smolagents. pip: smolagents[openai]. Modes: tools (both call tools), code (both write code), plan (code with planning)."""
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.smolagents:SmolagentsInstrumentor")
from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent, tool


@tool
def lookup(key: str) -> str:
    """Looks up the population of a city.

    Args:
        key: name of the city
    """
    return find(key)


def solve(question, key):
    model = OpenAIServerModel(model_id="scripted", api_base=BASE, api_key=key)
    kind = ToolCallingAgent if MODE == "tools" else CodeAgent
    researcher = kind(tools=[lookup], model=model, name="researcher", description="Finds facts.", max_steps=5, verbosity_level=0)
    manager = kind(tools=[], model=model, managed_agents=[researcher], max_steps=6, verbosity_level=0)
    return manager.run(question)


main(solve)
