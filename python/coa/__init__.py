"""Says which run and which agent the code inside belongs to, for `coa record run -- python app.py`. Without it, nothing happens.

    import coa

    with coa.run("ticket-4711"):
        with coa.agent("researcher"):
            ...
"""
import contextlib

from . import _context

__all__ = ["agent", "run"]


@contextlib.contextmanager
def run(run_id):
    """All model calls inside belong to the run of this id."""
    token = _context.scope.set(_context.Scope(str(run_id), None, None))
    try:
        yield
    finally:
        _context.scope.reset(token)


@contextlib.contextmanager
def agent(name):
    """All model calls inside are made by the agent of this name."""
    token = _context.scope.set(_context.inside(name))
    try:
        yield
    finally:
        _context.scope.reset(token)
