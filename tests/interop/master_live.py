#!/usr/bin/env python3
"""grpc://HOST:PORT as PATH: a server of ProfileAnalysis made of grpcio, whose answers are files that TensorFlow and the profilers of TPUs wrote.
What is shown of it is what the files show; and hostile servers get a sentence each.
"""
import concurrent.futures
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import xspace

PYTHON = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'stepscope/venv-record/bin/python')
BIN = os.path.join(ROOT, 'build/stepscope')
LEGACY = os.path.join(ROOT, 'tests/data/legacy')
passed = failed = 0

try:
    import grpc
except ImportError:
    grpc = None

# Sessions of the server: the directory of files that a tool's answer is taken from, and the file of each tool.
V2 = 'tpu_v2/plugins/profile/run/10.240.1.50.'
TF = 'tf24_two_hosts/plugins/profile/run/w0.'
DEMO = 'demo/plugins/profile/run/profile_demo.'
SESSIONS = {
    '2019_01_02_03_04_05': {'overview_page': V2 + 'overview_page.json', 'input_pipeline_analyzer': V2 + 'input_pipeline.json', 'pod_viewer': V2 + 'pod_viewer.json',
                            'trace_viewer@': 'tpu_json/plugins/profile/run/t1v-n-9eb622fc-w-0.trace.json.gz'},
    '2021_06_07_08_09_10': {'overview_page': TF + 'overview_page.pb', 'input_pipeline_analyzer': TF + 'input_pipeline.pb', 'tensorflow_stats': TF + 'tensorflow_stats.pb',
                            'kernel_stats': TF + 'kernel_stats.pb', 'memory_profile': TF + 'memory_profile.json.gz',
                            'tf_data_bottleneck_analysis': TF + 'tf_data_bottleneck_analysis.json'},
    '2018_01_01_00_00_00': {'op_profile': DEMO + 'op_profile.json', 'memory_viewer': DEMO + 'memory_viewer.json'},
}
# Answers with the name of their host: that of a file is in the file's name, of a server its address is known.
HOSTS = {'trace_viewer@': 't1v-n-9eb622fc-w-0', 'memory_viewer': 'profile_demo'}
# What our tool is called, where its name is another.
OURS = {'tensorflow_stats': 'framework_op_stats', 'trace_viewer@': 'plane_stats'}


def check(what, good, *details):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f'{what}: wrong', *details)


def read(name):
    with open(os.path.join(LEGACY, name), 'rb') as f:
        return f.read()


class Master(grpc.GenericRpcHandler if grpc else object):
    """`sessions` are as above; an answer that is bytes is sent as it is, one that is an exception is the server's refusal."""
    def __init__(self, sessions, error=None, host='127.0.0.1'):
        self.sessions, self.error, self.asked, self.host = sessions, error, [], host

    def service(self, details):
        fn = {'/tensorflow.ProfileAnalysis/EnumSessions': self.sessions_of, '/tensorflow.ProfileAnalysis/GetSessionToolData': self.data_of}.get(details.method)
        return grpc.unary_unary_rpc_method_handler(fn) if fn else None

    def sessions_of(self, request, context):
        if self.error:
            return xspace.serialize([[1, 2, self.error.encode()]])
        return xspace.serialize([[2, 2, [[1, 2, name.encode()], *[[2, 2, t.encode()] for t in tools]]] for name, tools in self.sessions.items()])

    def data_of(self, request, context):
        q = xspace.parse(request, 'stat')
        session, tool = xspace.text(q, 2), xspace.text(q, 3)
        parameters = {xspace.text(p, 1): xspace.text(p, 2) for p in (xspace.parse(e, 'stat') for e in xspace.get_all(q, 4))}
        self.asked.append((session, tool, parameters))
        answer = self.sessions[session][tool]
        if isinstance(answer, Exception):
            return xspace.serialize([[1, 2, str(answer).encode()]])
        return xspace.serialize([[2, 2, b'json'], [3, 2, read(answer) if isinstance(answer, str) else answer]])

    def __enter__(self):
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), options=[('grpc.max_send_message_length', -1)])
        self.server.add_generic_rpc_handlers((self,))
        self.at = self.listen()
        self.server.start()
        return self

    def listen(self):
        return f'grpc://{self.host}:{self.server.add_insecure_port(self.host + ":0")}'

    def __exit__(self, *exc):
        self.server.stop(0).wait(10)


class Secure(Master):
    """With a certificate of a custom authority, and a token that has to be there."""

    def __init__(self, host, certificate):
        super().__init__({'2021_06_07_08_09_10': {'overview_page': OVERVIEW}}, host=host)
        self.certificate, self.tokens = certificate, []

    def service(self, details):
        self.tokens.append(dict(details.invocation_metadata).get('authorization'))
        if self.tokens[-1] != 'Bearer the-token':
            return grpc.unary_unary_rpc_method_handler(lambda request, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, 'who are you?'))
        return super().service(details)

    def listen(self):
        with open(self.certificate + '.key', 'rb') as key, open(self.certificate + '.crt', 'rb') as crt:
            credentials = grpc.ssl_server_credentials([(key.read(), crt.read())])
        return f'grpcs://{self.host}:{self.server.add_secure_port(self.host + ":0", credentials)}'


def run(*args, tmp=None, **env):
    return subprocess.run([BIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, stdin=subprocess.DEVNULL,
                          env={**os.environ, **({'TMPDIR': tmp} if tmp else {}), **env})


def tables(tool, path):
    done = run('tool', tool, path, '--format', 'json')
    return (json.loads(done.stdout)['tables'] if done.returncode == 0 else done.stderr.decode()), done.stderr.decode()


def same_as_files():
    with Master(SESSIONS) as m:
        for session, tools in SESSIONS.items():
            for tool, name in tools.items():
                ours = OURS.get(tool, tool)
                got, said = tables(ours, f'{m.at}/{session}')
                want, _ = tables(ours, os.path.join(LEGACY, name))
                if tool in HOSTS:
                    got = json.loads(json.dumps(got).replace('127.0.0.1', HOSTS[tool]))
                check(f'{tool} of {session}', isinstance(want, list) and got == want, str(got)[:300], str(want)[:300])
        check('every event is asked for', {str(p) for _, t, p in m.asked if t == 'trace_viewer@'} == {"{'resolution': '0'}"}, m.asked[:3])
        done = run('runs', m.at)
        said = done.stderr.decode()
        check('the newest run', done.returncode == 0 and b'2021_06_07_08_09_10' in done.stdout, done)
        check('what it cost', re.search(r"MiB in 7 requests; run '2021_06_07_08_09_10' of 3, another is " + m.at + '/RUN$', said.strip()), said)
        check('a run that is not there', b"there is no run '1999'" in run('runs', m.at + '/1999').stderr)


def in_the_page():
    with Master(SESSIONS) as m, tempfile.TemporaryDirectory() as tmp:
        p = subprocess.Popen([BIN, 'serve', m.at + '/2019_01_02_03_04_05', '--port', '0'], stderr=subprocess.PIPE, env={**os.environ, 'TMPDIR': tmp})
        said = b''
        for line in p.stderr:
            said += line
            if b'Ctrl-C' in line:
                break
        port = re.search(rb'http://127\.0\.0\.1:(\d+)/ \(Ctrl', said)
        check('it is served', port, said)

        def get(path):
            with urllib.request.urlopen(f'http://127.0.0.1:{int(port[1])}{path}') as r:
                return r.read()
        if port:
            check('its run', b'2019_01_02_03_04_05' in get('/api/runs'))
            check('its overview', b'TPU v2' in get('/api/tool/overview_page?run=2019_01_02_03_04_05'))
            check('its pods', b'"tables"' in get('/api/tool/pod_viewer?run=2019_01_02_03_04_05'))
        p.terminate()
        check('it ends', p.wait(20) == 0)
        p.stderr.close()
        check('nothing is left', not [n for _, _, names in os.walk(tmp) for n in names])


class Repeated(dict):
    def __iter__(self):
        return iter(list(self.keys()) * 1000)


OVERVIEW = V2 + 'overview_page.json'


def refusals():
    cases = {
        'no run': (Master({}), 1, 'has no run'),
        'its own words': (Master({}, 'the bucket is not there'), 1, "does not answer: the bucket is not there"),
        'names that lead out': (Master({'../../etc': {'overview_page': OVERVIEW}, '/x': {}, '.': {}, 'a//b': {}, 'a\nb': {}}), 1, 'has no run with a name that is valid for a directory'),
        'one that leads out beside a good one': (Master({'../x': {'overview_page': OVERVIEW}, 'good': {'overview_page': OVERVIEW}}), 0, ''),
        'a tool that fails': (Master({'r': {'overview_page': OVERVIEW, 'op_profile': ValueError('no HLO was recorded')}}), 0, "r?:op_profile' was not answered: no HLO was recorded"),
        'all tools fail': (Master({'r': {'op_profile': ValueError('no HLO was recorded')}}), 1, 'does not answer: no HLO was recorded'),
        'no tool that is known': (Master({'r': {'x_viewer': OVERVIEW, '../../x': OVERVIEW}}), 1, "has no answer for run 'r' that can be read"),
        'tools that are not read': (Master({'r': {'overview_page': OVERVIEW, 'hlo_stats': OVERVIEW, 'memory_viewer': b'{"a": 1}', 'op_profile': b'\x0a\x00'}}), 0,
                                    'not read: hlo_stats, memory_viewer, op_profile'),
        'an empty answer': (Master({'r': {'overview_page': b''}}), 1, ''),
        'no JSON': (Master({'r': {'overview_page': b'{"a":'}}), 1, ''),
        'a tool twice': (Master({'r': {'input_pipeline': V2 + 'input_pipeline.json', 'input_pipeline_analyzer': V2 + 'input_pipeline.json', 'overview_page': OVERVIEW}}), 0, ''),
    }
    for what, (master, status, says) in cases.items():
        with master as m, tempfile.TemporaryDirectory() as tmp:
            done = run('summary', m.at, tmp=tmp)
            said = done.stderr.decode()
            check(what, done.returncode == status and re.search(says, said), done.returncode, said, done.stdout[:200])
            check(f'{what}: nothing is left', not [n for _, _, names in os.walk(tmp) for n in names])
            if 'not answered' in says:
                strict = run('summary', m.at, '--strict', tmp=tmp)
                check(f'{what} is a failure of --strict', strict.returncode == 1 and b'incomplete (--strict)' in strict.stderr, strict.stderr)
    with Master({'r': Repeated(overview_page=OVERVIEW)}) as m:
        at = m.at
        check('a tool that the server names a thousand times', run('runs', at).returncode == 0 and len(m.asked) == 1, len(m.asked))
    check('nobody there', b'UNAVAILABLE' in run('summary', at).stderr)
    for bad in ('grpc://', 'grpcs://', 'grpcs://host', 'grpc://::1:1', 'grpc://[::1]', 'grpc://[x/y]:1', 'grpc://[../a:]:1', 'grpc://host', 'grpc://h:1/a/../b', 'grpc://h:1/a//b', 'grpc://h o:1', 'grpc://:1'):
        check(bad, b'does not name a server' in run('summary', bad).stderr, run('summary', bad).stderr)


def with_tls():
    """Names, addresses of both kinds, certificates that are signed by nobody, and tokens."""
    hosts = ['localhost', '127.0.0.1']
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as s:
        s.bind(('::1', 0))
        hosts.append('[::1]')
    with tempfile.TemporaryDirectory() as tmp:
        for name, san in (('own', 'DNS:localhost,IP:127.0.0.1,IP:::1'), ('other', 'DNS:elsewhere')):
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', f'{tmp}/{name}.key', '-out', f'{tmp}/{name}.crt', '-days', '2', '-subj', '/CN=x', '-addext',
                            f'subjectAltName={san}'], check=True, stderr=subprocess.DEVNULL)
        with open(f'{tmp}/token', 'w') as f:
            f.write('the-token\n')
        known = {'SSL_CERT_FILE': f'{tmp}/own.crt', 'STEPSCOPE_GRPC_TOKEN_FILE': f'{tmp}/token'}
        for host in hosts:
            with Secure(host, f'{tmp}/own') as m:
                done = run('summary', m.at, **known)
                check(f'{m.at.rpartition(":")[0]} with a token', done.returncode == 0 and set(m.tokens) == {'Bearer the-token'}, done, m.tokens)
                m.tokens.clear()
                done = run('summary', m.at, SSL_CERT_FILE=f'{tmp}/own.crt')
                check(f'{host} without a token', done.returncode == 1 and b'who are you?' in done.stderr and b'STEPSCOPE_GRPC_TOKEN_FILE' in done.stderr, done)
                m.tokens.clear()
                done = run('summary', m.at, **{**known, 'SSL_CERT_FILE': f'{tmp}/other.crt'})
                check(f'{host} signed by nobody', done.returncode == 1 and b'certificate' in done.stderr and not m.tokens, done, m.tokens)
        with Secure('localhost', f'{tmp}/other') as m:
            done = run('summary', m.at, **{**known, 'SSL_CERT_FILE': f'{tmp}/other.crt'})
            check('a certificate of another host', done.returncode == 1 and b'certificate' in done.stderr and not m.tokens, done, m.tokens)
    if '[::1]' in hosts:
        with Master({'r': {'overview_page': OVERVIEW}}, host='[::1]') as m:
            done = run('runs', m.at + '/r')
            check('an address of IPv6', done.returncode == 0 and b'r' in done.stdout, done)


def main():
    if grpc is None and sys.executable == PYTHON:
        sys.exit(f'{PYTHON} has no grpcio')
    if grpc is None:
        os.execv(PYTHON, [PYTHON, *sys.argv])
    for part in (same_as_files, in_the_page, refusals, with_tls):
        part()
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
