"""A running `stepscope serve`, for notebooks and TensorBoard."""
from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading

__all__ = ["Server", "program"]


def program() -> str:
    """The program: what $STEPSCOPE_PROGRAM names, or where a wheel, the build, or the system has it."""
    name = "stepscope"
    here = os.path.dirname(os.path.abspath(__file__))
    tried = [os.environ.get("STEPSCOPE_PROGRAM"), os.path.join(os.path.dirname(sys.executable), name),
             os.path.join(sysconfig.get_path("scripts"), name), os.path.normpath(os.path.join(here, "../../build", name)),
             os.path.normpath(os.path.join(here, "../bin", name)), shutil.which(name)]
    for path in tried:
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise FileNotFoundError("the program stepscope is not found: install the wheel, or name it in $STEPSCOPE_PROGRAM")


class Server:
    """Serves `path` on a free port of 127.0.0.1 until stop() or the end of Python, also by a signal: the server ends when the pipe to it
    closes, and is in a session of its own, so that interrupting a cell does not end it. Requests need `token`, because other users of the
    machine reach its ports too; with open=True they need none, and may come by any name."""

    def __init__(self, path: str | os.PathLike[str], open: bool = False):
        self.path = os.fspath(path)
        self.token = "" if open else secrets.token_hex(16)
        self.port, said = 0, []
        command = [program(), "serve", "--logdir", self.path, "--port", "0", "--until-eof"]
        with tempfile.NamedTemporaryFile("w", prefix="stepscope-") as file:     # only its owner reads it
            file.write(self.token + "\n")
            file.flush()
            command += ["--allow-host", "*"] if open else ["--token-file", file.name]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                             start_new_session=True)
            atexit.register(self.stop)
            for line in self._process.stderr or ():
                said.append(line.strip())
                found = re.search(r"serving on http://[^/]*:(\d+)/", line)
                if found:
                    self.port = int(found.group(1))
                    break
        if not self.port or not self._process.stderr:
            self.stop()
            raise RuntimeError(" ".join(said) or "stepscope serve ended without a word")
        threading.Thread(target=self._process.stderr.read, daemon=True).start()    # so that it never waits for us to read

    @property
    def query(self) -> str:
        """What the first address opened must end in."""
        return f"?token={self.token}" if self.token else ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.query}"

    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        atexit.unregister(self.stop)
