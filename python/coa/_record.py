"""Sends model calls through the recorder of `coa record run`, whichever HTTP client makes them.

Nothing is recorded here: a call is readdressed to the proxy in the parent process, with headers that say what this process knows
of it (run, agent, the replies it comes after). Redaction, budgets and formats are the proxy's, as for any other program.
"""
import base64
import json
import os
import re
import sys
import uuid
from urllib.parse import quote, urlsplit

from . import _context, _hooks

#: The paths of the model APIs that the recorder reads.
_model_paths = (
    r"/(?:chat/completions|completions|responses|messages|api/chat|api/generate)$|/conversations(?:/[^/]+(?:/restart)?)?$"
    r"|/model/[^/]+/(?:converse(?:-stream)?|invoke)$|:(?:stream)?[gG]enerateContent$|:(?:r|streamR)awPredict$"
)
_proxy = None  # scheme, host, port and path prefix of the parent's proxy
_recorded = None


def start():
    """Starts following, where the parent has left its address."""
    global _proxy, _recorded
    address = os.environ.get("COA_PROXY")
    if not address:
        return
    _proxy = urlsplit(address)
    _recorded = re.compile(_model_paths)
    fixed = os.environ.get("COA_RUN")
    if fixed:
        _context.scope.set(_context.Scope(fixed, None, None))
    _context.follow()
    _hooks.on_answer = gave
    for module, patch in (
        ("httpx", _patch_httpx),
        ("httpx2", _patch_httpx),
        ("urllib3.connectionpool", _patch_urllib3),
        ("urllib.request", _patch_urllib),
        ("aiohttp.client", _patch_aiohttp),
    ):
        _hooks.when_imported(module, patch)
    _hooks.install()


def readdress(method, url):
    """The proxy's address for a model call, the headers it needs, and the call's id; None for everything else."""
    parts = urlsplit(str(url))
    if method.upper() != "POST" or not _recorded.search(parts.path) or parts.scheme not in ("http", "https"):
        return None
    origin = "%s://%s" % (parts.scheme, parts.netloc)
    call_id = str(uuid.uuid4())
    headers = {"x-coa-call": call_id, "host": _proxy.netloc}
    before = _context.began(call_id)
    if before:
        headers["x-coa-after"] = ",".join(before[-16:])
    current = _context.scope.get()
    if current is not None:
        headers["x-coa-scope" if _context.is_root(current.run_id) else "x-coa-run"] = quote(current.run_id, safe="")
        if current.agent is not None:
            headers["x-coa-agent"] = quote(json.dumps(current.agent), safe="")
    if parts.netloc == _proxy.netloc:  # the program was given the proxy's address already
        return str(url), headers, call_id
    query = "?" + parts.query if parts.query else ""
    target = "%s://%s%s/%s%s%s" % (
        _proxy.scheme,
        _proxy.netloc,
        _proxy.path,
        base64.urlsafe_b64encode(origin.encode()).decode().rstrip("="),
        parts.path,
        query,
    )
    return target, headers, call_id


def gave(run_id, text):
    """Tells what a framework's outermost call gave back: the answer, which need not be any reply."""
    import http.client

    connection = http.client.HTTPConnection(_proxy.hostname, _proxy.port, timeout=2)
    try:
        headers = {"x-coa-scope": quote(run_id, safe=""), "content-type": "application/json"}
        connection.request("POST", _proxy.path + "/answer/coa/given", json.dumps({"text": text}), headers)
        connection.getresponse().read()
    finally:
        connection.close()


def _replied(call_id):
    try:
        _context.replied(call_id)
    except Exception as problem:  # pragma: no cover
        sys.stderr.write("chain-of-agents: %s\n" % (problem,))


def _patch_httpx(httpx):
    plain = httpx.HTTPTransport.handle_request
    plain_async = httpx.AsyncHTTPTransport.handle_async_request

    def turn(request):
        found = readdress(request.method, request.url)
        if found is None:
            return None
        target, headers, call_id = found
        request.url = httpx.URL(target)
        for name, value in headers.items():
            request.headers[name] = value
        return call_id

    def handle_request(self, request):
        call_id = turn(request)
        response = plain(self, request)
        if call_id:
            _replied(call_id)
        return response

    async def handle_async_request(self, request):
        call_id = turn(request)
        response = await plain_async(self, request)
        if call_id:
            _replied(call_id)
        return response

    httpx.HTTPTransport.handle_request = handle_request
    httpx.AsyncHTTPTransport.handle_async_request = handle_async_request


def _patch_urllib3(module):
    """urllib3 itself, and what stands on it: requests, botocore."""
    pool_class = module.HTTPConnectionPool
    plain = pool_class.urlopen
    pools = []

    def urlopen(self, method, url, body=None, headers=None, *args, **options):
        scheme = getattr(self, "scheme", "http")
        host = "[%s]" % self.host if ":" in self.host else self.host
        port = "" if self.port in (None, {"http": 80, "https": 443}.get(scheme)) else ":%d" % self.port
        full = url if "://" in url else "%s://%s%s%s" % (scheme, host, port, url)
        found = readdress(method, full)
        if found is None:
            return plain(self, method, url, body, headers, *args, **options)
        target, more, call_id = found
        merged = {name: value for name, value in dict(headers or {}).items() if str(name).lower() != "host"}
        merged.update({("Host" if name == "host" else name): value for name, value in more.items()})
        if self.host == _proxy.hostname and self.port == _proxy.port:
            response = plain(self, method, url, body, merged, *args, **options)
        else:
            if not pools:
                pools.append(pool_class(_proxy.hostname, _proxy.port, maxsize=64))
            parts = urlsplit(target)
            path = parts.path + ("?" + parts.query if parts.query else "")
            response = plain(pools[0], method, path, body, merged, *args, **dict(options, assert_same_host=False))
        _replied(call_id)
        return response

    pool_class.urlopen = urlopen


def _patch_urllib(module):
    import http.client

    handler = module.AbstractHTTPHandler
    plain = handler.do_open

    def do_open(self, http_class, req, **options):
        found = readdress(req.get_method(), req.full_url)
        if found is None:
            return plain(self, http_class, req, **options)
        target, headers, call_id = found
        turned = module.Request(target, data=req.data, method=req.get_method())
        turned.timeout = getattr(req, "timeout", None)
        for name, value in list(req.headers.items()) + list(req.unredirected_hdrs.items()):
            if name.lower() != "host":
                turned.add_unredirected_header(name, value)
        for name, value in headers.items():
            turned.add_unredirected_header(name.capitalize(), value)
        response = plain(self, http.client.HTTPConnection, turned)
        _replied(call_id)
        return response

    handler.do_open = do_open


def _patch_aiohttp(module):
    session = module.ClientSession
    plain = session._request

    async def request(self, method, str_or_url, **options):
        build = getattr(self, "_build_url", None)
        found = readdress(method, build(str_or_url) if build else str_or_url)
        if found is None:
            return await plain(self, method, str_or_url, **options)
        target, more, call_id = found
        merged = dict(options.pop("headers", None) or {})
        merged.update(more)
        from yarl import URL

        response = await plain(self, method, URL(target, encoded=True), headers=merged, **options)
        _replied(call_id)
        return response

    session._request = request
