/**
 * The Python side of a Pyodide child, kept in the memory snapshot. `_coa_run` gives each program a fresh `__main__`,
 * real file descriptors 0 to 2 (so that `open(0)` and `os.write(1, …)` work) and the exit code CPython would give.
 * `_coa_reset` brings builtins, modules, streams, environment and interpreter settings back to the baseline; it says
 * which names it found changed. What it can't see: attributes of library classes and objects mutated in place.
 */

/** Modules most programs import; they are part of the snapshot, so importing them costs nothing. */
const preloaded =
  "abc argparse array ast asyncio base64 bisect calendar cmath collections collections.abc contextlib copy csv " +
  "dataclasses datetime decimal enum fractions functools gc hashlib heapq inspect io itertools json linecache math " +
  "numbers operator os pickle pprint queue random re statistics string struct sys textwrap threading time timeit " +
  "traceback types typing unicodedata uuid warnings";

export const pyodideRunner = `
def _coa_setup():
    import ${preloaded.replaceAll(" ", ", ")}
    import atexit, builtins, asyncio.base_events
    from operator import is_

    class SyncSelector:
        def select(self, timeout=None):
            if timeout is None:
                raise RuntimeError("asyncio waits for something that cannot happen: a sandbox has no network and no threads")
            if timeout > 0:
                time.sleep(timeout)
            return []
        def close(self): pass

    class SyncLoop(asyncio.base_events.BaseEventLoop):
        def __init__(self):
            super().__init__()
            self._selector = SyncSelector()
        def _process_events(self, event_list): pass
        def _write_to_self(self): pass

    class SyncPolicy(asyncio.events._BaseDefaultEventLoopPolicy):
        _loop_factory = SyncLoop

    def plain_run(main, *, debug=None, loop_factory=None):
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("asyncio.run() cannot be called from a running event loop")
        with asyncio.Runner(debug=debug, loop_factory=loop_factory or SyncLoop) as runner:
            return runner.run(main)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.set_event_loop_policy(SyncPolicy())
    asyncio.run = asyncio.runners.run = plain_run

    exec_, compile_, dict_, len_, all_, map_, list_ = exec, compile, dict, len, all, map, list
    Module, Text, Reader, Writer, Raw = types.ModuleType, io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.FileIO
    import ast
    print_exception = traceback.print_exception
    filename = "main.py"
    empty = Module("__main__")

    def streams():
        sys.stdin = Text(Reader(Raw(0, "r", closefd=False), 65536), encoding="utf-8", errors="surrogateescape")
        sys.stdout = Text(Writer(Raw(1, "w", closefd=False), 65536), encoding="utf-8", errors="surrogateescape")
        sys.stderr = Text(Writer(Raw(2, "w", closefd=False), 8192), encoding="utf-8", errors="backslashreplace", line_buffering=True)
        return sys.stdout, sys.stderr

    def flush(*files):
        for file in files:
            try: file.flush()
            except BaseException: pass

    # A program made of these alone has no way to anything that outlives it, so nothing need be cleaned up after it.
    nodes = tuple(getattr(ast, name) for name in (
        "Module Expr Expression Assign AugAssign AnnAssign For While If IfExp Break Continue Pass Return FunctionDef arguments arg Lambda "
        "BinOp UnaryOp BoolOp Compare Call keyword Name Constant List Tuple Dict Set ListComp SetComp DictComp "
        "GeneratorExp comprehension Subscript Slice Starred JoinedStr FormattedValue Attribute NamedExpr Load Store operator "
        "unaryop boolop cmpop").split())
    builtin_names = frozenset(
        "abs all any bin bool bytes chr complex dict divmod enumerate filter float frozenset hash hex input int isinstance iter "
        "len list map max min next oct ord pow print range repr reversed round set slice sorted str sum tuple zip".split())
    method_names = frozenset(
        "append extend insert pop remove clear index count sort reverse copy add discard update union intersection difference "
        "keys values items get setdefault join split rsplit splitlines strip lstrip rstrip replace find rfind upper lower title "
        "startswith endswith isdigit isalpha isalnum zfill ljust rjust center bit_length as_integer_ratio real imag".split())

    def harmless(tree):
        own, used = set(), set()
        for node in ast.walk(tree):
            if not isinstance(node, nodes): return False
            kind = type(node)
            if kind is ast.Name: (used if type(node.ctx) is ast.Load else own).add(node.id)
            elif kind is ast.Attribute:
                if node.attr not in method_names or type(node.ctx) is not ast.Load: return False
            elif kind is ast.arg: own.add(node.arg)
            elif kind is ast.FunctionDef:
                if node.decorator_list: return False
                own.add(node.name)
        return not any(name.startswith("_") for name in own | used) and used <= (own | builtin_names)

    def run(code, seed, judge):
        out, err = streams()
        safe = False
        main = Module("__main__")
        main.__builtins__ = builtins
        main.__file__ = filename
        sys.modules["__main__"] = main
        sys.argv = [filename]
        linecache.cache[filename] = (len_(code), None, code.splitlines(True), filename)
        random.seed(seed)
        asyncio._set_running_loop(None)
        status, reason = 0, ""
        try:
            try:
                if judge and len_(code) < 600:
                    code = compile_(code, filename, "exec", 1024, True)  # 1024: the syntax tree alone
                    safe = harmless(code)
                exec_(compile_(code, filename, "exec", 0, True), main.__dict__)
            finally:
                if atexit._ncallbacks(): atexit._run_exitfuncs()
        except SystemExit as stop:
            code = stop.code
            if code is None: status = 0
            elif isinstance(code, int): status = code & 255
            else:
                status = 1
                err.write(str(code) + "\\n")
        except BaseException as problem:
            status, reason = 1, type(problem).__name__
            trace = problem.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename != filename and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None and trace.tb_frame.f_code.co_filename != filename:
                trace = None
            flush(sys.stdout, out)
            try: print_exception(type(problem), problem, trace, file=err)
            except BaseException: err.write(type(problem).__name__ + "\\n")
            problem = trace = None
        finally:
            main.__dict__.clear()
        flush(sys.stdout, sys.stderr, out, err)
        sys.modules["__main__"] = empty
        return f"{status} {reason}" + (" harmless" if safe else "")

    streams()
    skip = {"__main__"}
    harmless(ast.parse("def f(x): return [y for y in range(x)]"))
    baseline = {name: (module, dict_(module.__dict__)) for name, module in sys.modules.items()
                if name not in skip and isinstance(module, Module)}
    watched = [(name, module.__dict__, saved, tuple(saved)) for name, (module, saved) in baseline.items()
               if name not in ("sys", "linecache")]
    lists = [(sys.path, list_(sys.path)), (sys.meta_path, list_(sys.meta_path)), (sys.path_hooks, list_(sys.path_hooks)),
             (gc.callbacks, list_(gc.callbacks)), (warnings.filters, list_(warnings.filters))]
    saved_sys = dict_(sys.__dict__)
    environment = dict_(os.environ)
    home, limit, digits = os.getcwd(), sys.getrecursionlimit(), sys.get_int_max_str_digits()
    modules, sys_dict, getcwd, chdir = sys.modules, sys.__dict__, os.getcwd, os.chdir

    def reset():
        changed = []
        sys_dict["settrace"] = saved_sys["settrace"]; saved_sys["settrace"](None)
        saved_sys["setprofile"](None)
        atexit._clear()
        if sys_dict["modules"] is not modules: sys_dict["modules"] = modules
        if len_(modules) != len_(baseline) + 1 or not all_(name in modules for name in baseline):
            for name in [name for name in modules if name not in baseline and name != "__main__"]:
                del modules[name]
        for name, (module, saved) in baseline.items():
            if modules.get(name) is not module:
                modules[name] = module
                changed.append(name)
        for name, now, saved, keys in watched:
            if len_(now) != len_(saved) or not all_(map_(is_, now.values(), saved.values())):
                now.clear()
                now.update(saved)
                changed.append(name)
        for now, saved in lists:
            if now != saved:
                now[:] = saved
                changed.append("list")
        for key in [key for key in sys_dict if key not in saved_sys]: del sys_dict[key]
        for key, value in saved_sys.items():
            if sys_dict.get(key) is not value:
                sys_dict[key] = value
        if dict_(os.environ) != environment:
            os.environ.clear(); os.environ.update(environment)
        if getcwd() != home: chdir(home)
        saved_sys["setrecursionlimit"](limit)
        saved_sys["set_int_max_str_digits"](digits)
        decimal.setcontext(decimal.Context())
        linecache.cache.clear()
        re.purge() if len_(re._cache) > 400 else None
        return " ".join(changed)

    return run, reset

_coa_run, _coa_reset = _coa_setup()
del _coa_setup
`;
