"""A tab of TensorBoard with stepscope's page. TensorBoard finds it by the entry point `tensorboard_plugins` of the wheel."""
from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any, Callable, Iterable
from urllib.parse import quote, urlsplit

from tensorboard.plugins import base_plugin

from .server import Server

_SCRIPT = b'export function render() { document.location.replace(new URL("./page/index.html", import.meta.url)); }\n'
# What goes to our server of a request, and what comes back.
_ASKED = ("HTTP_ACCEPT_ENCODING", "HTTP_IF_NONE_MATCH", "HTTP_SEC_FETCH_SITE", "CONTENT_TYPE")
_ANSWERED = ("content-type", "content-encoding", "content-length", "etag", "cache-control", "vary", "content-security-policy", "x-content-type-options",
             "referrer-policy", "content-disposition")
_LOOK_AGAIN_S = 30
_FIRST_LOOK_S = 10      # a local directory takes milliseconds; a bucket may take longer
_ONE_LOGDIR = "stepscope shows one log directory: start TensorBoard with --logdir DIR. It does not take those of --logdir_spec."


class StepscopePlugin(base_plugin.TBPlugin):
    plugin_name = "stepscope"

    def __init__(self, context: base_plugin.TBContext):
        self._logdir = context.logdir
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._active, self._looked_s = False, -1e9
        self._seen, self._first_s = threading.Event(), 0.0

    def get_plugin_apps(self) -> dict[str, Callable[..., Iterable[bytes]]]:
        return {"/index.js": self._script, "/page/*": self._page}

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="stepscope", disable_reload=True)

    def is_active(self) -> bool:
        """Looks in a thread of its own, for TensorBoard asks all plugins before it shows anything. The first answer waits for it: where no
        other plugin has data, TensorBoard does not ask again."""
        if self._logdir and time.monotonic() - self._looked_s > _LOOK_AGAIN_S:
            self._looked_s = time.monotonic()
            self._first_s = self._first_s or self._looked_s
            threading.Thread(target=self._look, daemon=True).start()
        if self._logdir:
            self._seen.wait(max(0, self._first_s + _FIRST_LOOK_S - time.monotonic()))
        return self._active

    def _look(self) -> None:
        try:
            answer = self._connect("GET", "/api/runs", {}, None).getresponse()
            self._active = bool(json.load(answer).get("runs"))
        except (OSError, RuntimeError, ValueError):
            self._active = False
        self._seen.set()

    def _connect(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> http.client.HTTPConnection:
        with self._lock:
            if self._server is None or not self._server.running():
                self._server = Server(self._logdir)
            server = self._server
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        connection.request(method, url, body, {**headers, "Authorization": f"Bearer {server.token}"})
        return connection

    def _script(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Type", "application/javascript"), ("Content-Length", str(len(_SCRIPT))), ("X-Content-Type-Options", "nosniff")])
        return [_SCRIPT]

    def _page(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = "/" + environ["PATH_INFO"].split("/page/", 1)[1].encode("latin-1").decode("utf-8", "replace")
        origin = environ.get("HTTP_ORIGIN", "")
        if origin and urlsplit(origin).netloc != environ.get("HTTP_HOST", ""):
            return _refuse(start_response, "403 Forbidden", "this request comes from another site")
        frame = path in ("/", "/index.html")
        if not self._logdir:
            return _refuse(start_response, "404 Not Found", _ONE_LOGDIR, frame)
        headers = {name.replace("HTTP_", "").replace("_", "-").title(): environ[name] for name in _ASKED if environ.get(name)}
        length = int(environ.get("CONTENT_LENGTH") or 0)
        query = environ.get("QUERY_STRING")
        url = quote(path) + (f"?{query}" if query else "")
        try:
            body = environ["wsgi.input"].read(length) if length else None
            answer = self._connect(environ["REQUEST_METHOD"], url, headers, body).getresponse()
        except (OSError, RuntimeError) as why:
            return _refuse(start_response, "502 Bad Gateway", f"stepscope serve does not answer: {why}", frame)
        start_response(f"{answer.status} {answer.reason}", [(k, v) for k, v in answer.getheaders() if k.lower() in _ANSWERED])
        return iter(lambda: answer.read(1 << 16), b"")


def _refuse(start_response: Callable[..., Any], status: str, why: str, frame: bool = False) -> Iterable[bytes]:
    """In words where they are the page, else as the routes say it."""
    text = (why if frame else json.dumps({"error": {"status": int(status[:3]), "text": why}})).encode()
    kind = "text/plain; charset=utf-8" if frame else "application/json"
    start_response(status, [("Content-Type", kind), ("Content-Length", str(len(text))), ("X-Content-Type-Options", "nosniff")])
    return [text]
