"""LangChain without a graph of its own. pip: langchain langchain-openai. Modes: tools (one agent with a tool), code (a chain of prompts)."""
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.langchain:LangChainInstrumentor")
from langchain.agents import create_agent
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


def solve(question, key):
    model = ChatOpenAI(model="scripted", base_url=BASE, api_key=key)
    if MODE == "tools":
        agent = create_agent(model, tools=[lookup], system_prompt="You are the solver.")
        return agent.invoke({"messages": [{"role": "user", "content": question}]})["messages"][-1].content
    first = ChatPromptTemplate.from_messages([("system", "You are the researcher."), ("user", "{question}")]) | model | StrOutputParser()
    last = ChatPromptTemplate.from_messages([("system", "You are the writer."), ("user", "{question}\nFacts: {facts}")]) | model | StrOutputParser()
    return (RunnablePassthrough.assign(facts=first) | last).invoke({"question": question})


main(solve)
