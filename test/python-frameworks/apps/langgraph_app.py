"""LangGraph. pip: langgraph langchain langchain-openai. Modes: tools (a supervisor whose tool is an agent), code (researcher, writer), send (branches by Send)."""
import operator
from typing import Annotated, TypedDict

from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.langchain:LangChainInstrumentor")
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


@tool
def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


class State(TypedDict):
    question: str
    parts: Annotated[list, operator.add]
    answer: str


async def solve(question, key):
    model = ChatOpenAI(model="scripted", base_url=BASE, api_key=key)
    research = create_agent(model, tools=[lookup], system_prompt="You are the researcher.", name="researcher")
    if MODE == "tools":

        @tool
        async def researcher(task: str) -> str:
            """Finds facts."""
            found = await research.ainvoke({"messages": [{"role": "user", "content": task}]})
            return found["messages"][-1].content

        manager = create_agent(model, tools=[researcher], system_prompt="You are the manager.", name="manager")
        said = await manager.ainvoke({"messages": [{"role": "user", "content": question}]})
        return said["messages"][-1].content

    def node(system, key_of, out):
        async def run(state):
            said = await model.ainvoke([("system", system), ("user", key_of(state))])
            return {out: [said.content] if out == "parts" else said.content}

        return run

    graph = StateGraph(State)
    if MODE == "code":

        async def find_facts(state):
            found = await research.ainvoke({"messages": [{"role": "user", "content": state["question"]}]})
            return {"parts": [found["messages"][-1].content]}

        graph.add_node("research", find_facts)
        graph.add_node("writer", node("You are the writer.", lambda state: "%s\nFacts: %s" % (state["question"], state["parts"]), "answer"))
        graph.add_edge(START, "research")
        graph.add_edge("research", "writer")
        graph.add_edge("writer", END)
    else:
        graph.add_node("planner", node("You are the planner.", lambda state: state["question"], "answer"))
        graph.add_node("worker", node("You are a worker.", lambda state: state["question"], "parts"))
        graph.add_node("synthesizer", node("You are the synthesizer.", lambda state: "%s\n%s" % (state["question"], "\n".join(state["parts"])), "answer"))
        graph.add_edge(START, "planner")
        fan = lambda state: [Send("worker", {"question": line[2:]}) for line in state["answer"].splitlines() if line.startswith("- ")]
        graph.add_conditional_edges("planner", fan, ["worker"])
        graph.add_edge("worker", "synthesizer")
        graph.add_edge("synthesizer", END)
    return (await graph.compile().ainvoke({"question": question, "parts": []}))["answer"]


main(solve)
