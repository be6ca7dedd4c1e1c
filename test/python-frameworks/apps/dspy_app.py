"""DSPy. pip: dspy. Modes: tools (ReAct), code (two modules in a program)."""
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
from common import BASE, MODE, find, main, trace

trace("openinference.instrumentation.dspy:DSPyInstrumentor")
import dspy


def lookup(key: str) -> str:
    """Looks up the population of a city."""
    return find(key)


class Chain(dspy.Module):
    def __init__(self):
        super().__init__()
        self.facts = dspy.ChainOfThought("question -> facts")
        self.reply = dspy.ChainOfThought("question, facts -> answer")

    def forward(self, question):
        return self.reply(question=question, facts=self.facts(question=question).facts)


def solve(question, key):
    model = dspy.LM("openai/scripted", api_base=BASE, api_key=key, cache=False)
    with dspy.context(lm=model):
        program = dspy.ReAct("question -> answer", tools=[lookup], max_iters=4) if MODE == "tools" else Chain()
        return program(question=question).answer


main(solve)
