"""The page in a notebook: `%load_ext stepscope` and `%stepscope PATH`, or `stepscope.show(path)`."""
from __future__ import annotations

import html
import json
import os
import shlex
import sys
from typing import Any

from .server import Server

__all__ = ["show"]

_servers: dict[str, Server] = {}

# The page comes through the notebook's own server where jupyter-server-proxy is installed, at whatever prefix that is (JupyterHub, SageMaker);
# else from the port itself, which a browser on this machine reaches.
_FRAME = """<div id="%(id)s"><iframe width="100%%" height="%(height)d" style="border:0"></iframe></div>
<script>
(async () => {
  const frame = document.getElementById("%(id)s").firstChild, template = %(template)s;
  const config = document.getElementById("jupyter-config-data");
  const base = template ? "" : config ? JSON.parse(config.textContent).baseUrl : document.body.dataset.baseUrl || "/";
  const through = template || base + "proxy/%(port)d/";
  const good = template || await fetch(through + "icon.svg%(query)s").then(r => r.ok, () => false);
  const name = ["localhost", "127.0.0.1"].includes(location.hostname) ? location.hostname : "127.0.0.1";
  frame.src = (good ? through : "http://" + name + ":%(port)d/") + "%(query)s";
})();
</script>"""


class _Frame:
    def __init__(self, server: Server, height: int):
        self._server, self._height = server, height

    def __repr__(self) -> str:
        return f"stepscope: {self._server.path} at {self._server.url}"

    def _repr_html_(self) -> str:
        template = os.environ.get("STEPSCOPE_PROXY_URL", "").replace("%PORT%", str(self._server.port))
        return _FRAME % {"id": html.escape(f"stepscope-{self._server.port}-{id(self)}"), "height": self._height, "port": self._server.port,
                         "query": self._server.query, "template": json.dumps(template).replace("</", "<\\/")}


def show(path: str | os.PathLike[str], height: int = 800) -> Any:
    """The page of a run or a log directory, as the output of a cell, in Jupyter, Colab, VS Code on the same machine, and SageMaker.

    It is served by this machine until Python ends. Behind a proxy with an address of its own, $STEPSCOPE_PROXY_URL says how a port of this
    machine is reached: https://host/proxy/%PORT%/."""
    key = os.path.abspath(os.fspath(path))
    colab = "google.colab" in sys.modules
    server = _servers.get(key)
    if server is None or not server.running():
        server = _servers[key] = Server(path, open=colab)
    if colab:
        from google.colab import output  # type: ignore[import-not-found]
        output.serve_kernel_port_as_iframe(server.port, height=str(height))
        return None
    return _Frame(server, height)


def load_ipython_extension(ipython: Any) -> None:
    def stepscope(line: str) -> Any:
        """%stepscope PATH: the page of a run or a log directory."""
        words = shlex.split(line)
        if len(words) != 1:
            raise ValueError("%stepscope takes one path: of a run, or of a log directory")
        return show(os.path.expanduser(words[0]))

    ipython.register_magic_function(stepscope, magic_kind="line", magic_name="stepscope")
