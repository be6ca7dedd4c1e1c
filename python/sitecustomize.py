"""Loaded by every Python process under `coa record run`: starts the recorder, then the sitecustomize that was there before."""
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _run_the_other():
    """Python takes the first sitecustomize it finds, which is this one; a user's own still runs."""
    import importlib.machinery
    import importlib.util

    rest = [path for path in sys.path if os.path.abspath(path or ".") != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    from coa import _record

    _record.start()
except Exception as problem:  # the program matters more than its recording
    sys.stderr.write("chain-of-agents: recording failed: %s\n" % (problem,))

_run_the_other()
