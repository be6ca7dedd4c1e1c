"""CrewAI. pip: crewai. Modes: tools (hierarchical), code (sequential), react (a model without tool calls)."""
import os

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", CREWAI_DISABLE_TRACKING="true", CREWAI_TESTING="true")
if not os.environ.get("OTLP"):
    os.environ["OTEL_SDK_DISABLED"] = "true"
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.crewai:CrewAIInstrumentor")
from crewai import LLM, Agent, Crew, Process, Task
from crewai.tools import tool


@tool("lookup")
def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


def solve(question, key):
    llm = LLM(model="openai/gpt-4o-mini", base_url=BASE, api_key=key)
    if MODE == "react":
        object.__setattr__(llm, "supports_function_calling", lambda: False)
    researcher = Agent(role="Researcher", goal="Find facts", backstory="You find facts.", tools=[lookup], llm=llm, allow_delegation=False)
    if MODE == "tools":
        task = Task(description="Answer this question: %s" % question, expected_output="A number")
        return Crew(agents=[researcher], tasks=[task], process=Process.hierarchical, manager_llm=llm).kickoff().raw
    writer = Agent(role="Writer", goal="Write answers", backstory="You write short answers.", llm=llm, allow_delegation=False)
    first = Task(description="Find the facts for this question: %s" % question, expected_output="The facts", agent=researcher)
    last = Task(description="Answer this question: %s" % question, expected_output="A number", agent=writer, context=[first])
    return Crew(agents=[researcher, writer], tasks=[first, last], process=Process.sequential).kickoff().raw


main(solve)
