"""Start `stepscope serve` (or another profile server) on a free loopback port and talk to it."""
import gzip
import http.client
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

DATA = '/data/plugin/profile/data'


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class ServerError(Exception):
    pass


class Server:
    """A child process that listens; a context manager that never leaves it behind."""

    def __init__(self, command, logdir, timeout_s=60, env=None):
        self.port = free_port()
        self.timeout_s = timeout_s
        self.stderr = tempfile.TemporaryFile()
        argv = [a.format(logdir=logdir, port=self.port) for a in shlex.split(command)]
        self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.stderr,
                                     stderr=self.stderr, start_new_session=True, env={**os.environ, **(env or {})})
        try:
            self.wait_listening()
        except BaseException:
            self.close()
            raise

    def wait_listening(self):
        end = time.monotonic() + self.timeout_s
        while time.monotonic() < end:
            if self.proc.poll() is not None:
                raise ServerError(f'server ended with status {self.proc.returncode}: {self.words()}')
            try:
                socket.create_connection(('127.0.0.1', self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.01)
        raise ServerError(f'server did not listen within {self.timeout_s} s')

    def words(self):
        """What the server has said so far, for a message."""
        self.stderr.seek(0)
        return self.stderr.read()[-400:].decode('utf-8', 'replace').strip()

    def get(self, path, query=None, headers=None):
        """(status, body) of a GET; the body is inflated when it came compressed."""
        conn = http.client.HTTPConnection('127.0.0.1', self.port, timeout=self.timeout_s)
        try:
            url = path + ('?' + urllib.parse.urlencode(query) if query else '')
            conn.request('GET', url, headers=headers or {'Accept-Encoding': 'gzip'})
            reply = conn.getresponse()
            body = reply.read()
            if reply.getheader('Content-Encoding') == 'gzip':
                body = gzip.decompress(body)
            return reply.status, body
        finally:
            conn.close()

    def cpu_s(self):
        """CPU time the server process has used, user and system."""
        with open(f'/proc/{self.proc.pid}/stat') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def cpu_ns(self):
        """The same in small steps: what its present threads have used, or more where threads have ended."""
        total, folder = 0, f'/proc/{self.proc.pid}/task'
        for task in os.listdir(folder):
            try:
                with open(f'{folder}/{task}/schedstat') as f:
                    total += int(f.read().split()[0])
            except (FileNotFoundError, ProcessLookupError):     # ended just now
                pass
        return max(total, int((self.cpu_s() - 0.01) * 1e9))

    def peak_kb(self):
        with open(f'/proc/{self.proc.pid}/status') as f:
            for line in f:
                if line.startswith('VmHWM:'):
                    return int(line.split()[1])
        return 0

    def close(self):
        """Ask to end, then insist; the status tells a clean end (0) from a crash."""
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
            try:
                self.proc.wait(10)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        self.stderr.close()
        return self.proc.returncode

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
