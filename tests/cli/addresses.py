#!/usr/bin/env python3
"""https:// as PATH, against servers of our own that give ranges and that do not, end early, change the file, lead elsewhere and fall silent."""
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import ssl
import subprocess
import sys
import tarfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles

SAMPLE = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
RUN = os.path.join(SAMPLE, 'plugins', 'profile', 'run')
PROFILE = open(os.path.join(RUN, 'host0.xplane.pb'), 'rb').read()
RANGE = 8 << 20
SECRET = 'S3CRET'


def archive():
    """Larger than five ranges."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as t:
        t.add(SAMPLE, '.')
        m = tarfile.TarInfo('large.json')
        m.size = 5 * RANGE + 12345
        t.addfile(m, io.BytesIO(os.urandom(m.size)))
    return out.getvalue()


LARGE = archive()


class Handler(http.server.BaseHTTPRequestHandler):
    """What it does is the first part of the path: /ranges/run.tar."""
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def head(self, status, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def send(self, data, tag='"one"', cut=None, shift=0):
        headers = [('ETag', tag)] if tag else []
        asked = re.match(r'bytes=(\d+)-(\d+)$', self.headers.get('Range', ''))
        if tag and self.headers.get('If-None-Match') == tag:
            return self.head(304, *headers, ('Content-Length', '0'))
        if not asked or self.what in ('noranges', 'cut200'):
            self.head(200, *headers, ('Content-Length', str(len(data))))
            return self.wfile.write(data[:cut])
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        part = data[first:last + 1]
        self.head(206, *headers, ('Content-Range', f'bytes {first + shift}-{last + shift}/{len(data)}'), ('Content-Length', str(len(part))))
        self.wfile.write(part[:cut])

    def do_GET(self):
        s = self.server
        path = self.path.split('?')[0]
        self.what = path.split('/')[1]
        with s.lock:
            s.seen.append((self.what, self.headers.get('Range'), self.headers.get('Authorization')))
            n = sum(1 for what, _, _ in s.seen if what == self.what)
            s.now += 1
            s.most = max(s.most, s.now)
        try:
            self.answer(path, n)
        finally:
            with s.lock:
                s.now -= 1

    def answer(self, path, n):
        s = self.server
        data = LARGE if path.endswith('.tar') else PROFILE
        moves = {'same': '/ranges/' + path.split('/')[-1], 'other': f'http://127.0.0.1:{s.other}/ranges/host0.xplane.pb', 'file': 'file:///etc/passwd',
                 'tls': f'https://localhost:{s.tls}/ranges/host0.xplane.pb', 'loop': f'/loop/{n}.pb', 'user': f'https://a:{SECRET}@localhost:{s.tls}/ranges/x.pb'}
        if self.what in moves:
            self.head(302, ('Location', moves[self.what]), ('Content-Length', '0'))
        elif self.what in ('ranges', 'noranges'):
            if path.endswith('.tar'):
                time.sleep(0.2)
            self.send(data)
        elif self.what == 'version':
            self.send(data, f'"{s.version}"')
        elif self.what == 'untagged':
            self.send(data, None)
        elif self.what == 'nostore':
            self.head(200, ('ETag', '"x"'), ('Cache-Control', 'private, no-store'), ('Content-Length', str(len(data))))
            self.wfile.write(data)
        elif self.what == 'changes':
            self.send(data, f'"{n > 2}"')
        elif self.what == 'shrinks':
            self.send(data[:len(data) - (n > 1) * 1000])
        elif self.what in ('cut', 'cut200'):
            self.send(data, cut=len(data) // 3)
            self.close_connection = True
        elif self.what == 'cutonce':
            self.send(data, cut=200000 if n == 2 else None)
            self.close_connection = n == 2
        elif self.what == 'shift':
            self.send(data, shift=1)
        elif self.what == 'longer':
            self.head(206, ('ETag', '"l"'), ('Content-Range', f'bytes 0-99/{len(data)}'), ('Content-Length', str(len(data))))
            self.wfile.write(data)
        elif self.what == 'badrange':
            self.head(206, ('ETag', '"l"'), ('Content-Range', 'bytes */*'), ('Content-Length', str(len(data))))
            self.wfile.write(data)
        elif self.what == 'busy' and n < 3:
            self.head(503, ('Content-Length', '0'))
        elif self.what == 'busy':
            self.send(data)
        elif self.what == 'empty':
            self.head(200, ('ETag', '"e"'), ('Content-Length', '0'))
        elif self.what == 'silent':
            self.head(206, ('ETag', '"s"'), ('Content-Range', f'bytes 0-{len(data) - 1}/{len(data)}'), ('Content-Length', str(len(data))))
            self.wfile.write(data[:1000])
            self.wfile.flush()
            time.sleep(5)
        elif self.what == 'page':
            body = b'<!DOCTYPE html><html><body>Sign in</body></html>'
            self.head(200, ('ETag', '"p"'), ('Content-Length', str(len(body))))
            self.wfile.write(body)
        else:
            self.head(int(self.what), ('Content-Length', '0'))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(('127.0.0.1', 0), Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.lock = threading.Lock()
        self.seen, self.now, self.most, self.version = [], 0, 0, 1
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *args):
        pass


class Checks(checks.Counts):
    def __init__(self, binary, scratch):
        self.binary, self.scratch = binary, scratch
        self.cache = os.path.join(scratch, 'cache')
        self.tmp = os.path.join(scratch, 'tmp')
        os.mkdir(self.tmp)
        self.env = {**os.environ, 'TMPDIR': self.tmp, 'STEPSCOPE_CACHE': self.cache, 'STEPSCOPE_FETCH_TIMEOUT_S': '2'}
        self.env.pop('SSL_CERT_FILE', None)

    def run(self, *args, **env):
        return subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env={**self.env, **env},
                              stdin=subprocess.DEVNULL)

    def case(self, what, args, status, err, **env):
        before = self.kept()
        done = self.run(*args, **env)
        said = done.stderr.decode('utf-8', 'replace')
        self.check(what, done.returncode == status and (re.search(err, said, re.S) if err else said == ''),
                   f'status {done.returncode}, {said[:600]!r}, {done.stdout[-200:]!r}')
        self.check(f'{what}: no secret', SECRET not in said and SECRET.encode() not in done.stdout, said)
        if status:
            self.check(f'{what}: nothing half-written is kept', self.kept() == before, str(self.kept()))
        self.check(f'{what}: nothing is left in $TMPDIR', not any(f for _, _, f in os.walk(self.tmp)), '')
        return done.stdout

    def kept(self):
        return sorted((n, os.path.getsize(os.path.join(d, n))) for d, _, names in os.walk(self.cache) for n in names if n not in ('lock',))


def ranges(c, s):
    url = f'http://127.0.0.1:{s.port}/ranges/run.tar'
    want = json.loads(c.run('tool', 'overview_page', SAMPLE, '--format', 'json').stdout)['tables']
    got = json.loads(c.case('an archive in ranges', ['tool', 'overview_page', url, '--format', 'json'], 0, r"run\.tar': 40\.\d+ MiB in 6 requests"))
    c.check('its answer is that of the directory', got['tables'] == want)
    asked = sorted(int(re.match(r'bytes=(\d+)', r)[1]) for what, r, _ in s.seen if what == 'ranges')
    c.check('each byte is asked for once', asked == [i * RANGE for i in range(6)], asked)
    c.check('several ranges at once', 2 <= s.most <= 4, s.most)
    files = [os.path.join(d, n) for d, _, names in os.walk(c.cache) for n in names if n == 'run.tar']
    with open(files[0], 'rb') as f:
        c.check('the bytes are the file', hashlib.sha1(f.read()).digest() == hashlib.sha1(LARGE).digest())
    c.check('the cache is for this user alone', os.stat(files[0]).st_mode & 0o77 == 0, oct(os.stat(files[0]).st_mode))
    before = len(s.seen)
    c.case('again', ['runs', url], 0, r'has not changed: read from the cache \(1 request\)')
    c.check('with one request', len(s.seen) == before + 1, s.seen[before:])
    c.case('doctor says its cost', ['doctor', url], 0, r'has not changed: read from the cache \(1 request\)\n')
    c.case('no ranges', ['summary', f'http://localhost:{s.port}/noranges/run.tar'], 0, 'MiB in 1 request\n')
    c.case('one profile', ['summary', f'http://127.0.0.1:{s.port}/ranges/host0.xplane.pb'], 0, r'0\.01 MiB in 1 request\n')
    c.case('cut once, and asked again', ['runs', f'http://127.0.0.1:{s.port}/cutonce/run.tar'], 0, 'MiB in 7 requests')
    c.case('busy, and asked again', ['runs', f'http://127.0.0.1:{s.port}/busy/h.xplane.pb'], 0, 'MiB in 3 requests')


def versions(c, s):
    url = f'http://127.0.0.1:{s.port}/version/host0.xplane.pb'
    c.case('the first version', ['runs', url], 0, 'MiB in 1 request')
    c.case('the same', ['runs', url], 0, 'has not changed')
    s.version = 2
    c.case('another version', ['runs', url], 0, 'MiB in 1 request')
    c.case('is kept in its place', ['runs', url], 0, 'has not changed')
    damaged = [os.path.join(d, n) for d, _, names in os.walk(c.cache) for n in names if n == 'host0.xplane.pb']
    for path in damaged:
        os.truncate(path, 100)
    c.case('a file of the cache that was shortened is fetched again', ['runs', url], 0, 'MiB in 1 request')
    for what in ('untagged', 'nostore'):
        kept = c.kept()
        for _ in range(2):
            c.case(what, ['runs', f'http://127.0.0.1:{s.port}/{what}/h.xplane.pb'], 0, 'MiB in 1 request')
        c.check(f'{what}: it is not kept', c.kept() == kept, c.kept())
    c.case('an untagged file is not put together of ranges', ['runs', f'http://127.0.0.1:{s.port}/untagged/run.tar'], 0, 'MiB in 2 requests')


def faults(c, s):
    cases = {
        'changes/run.tar': (1, "changed while it was fetched: try again"), 'shrinks/run.tar': (1, 'changed while it was fetched'),
        'cut/h.xplane.pb': (1, r'is incomplete: the server ended the connection after \d+ bytes'), 'cut200/h.xplane.pb': (1, r'is incomplete: the server ended the connection after \d+ bytes'),
        'shift/h.xplane.pb': (1, 'other bytes than requested'), 'longer/h.xplane.pb': (1, 'other bytes than requested'),
        'badrange/h.xplane.pb': (1, 'other bytes than requested'), 'empty/h.xplane.pb': (1, 'is empty'), '404/h.xplane.pb': (1, 'there is no'),
        '403/h.xplane.pb': (1, r"may not be read \(status 403\): .* \(after its '\?'\) does not allow it"), '401/h.xplane.pb': (1, 'may not be read'), '500/h.xplane.pb': (1, 'status 500'),
        '418/h.xplane.pb': (1, 'status 418'), '416/h.xplane.pb': (1, 'is empty'), 'silent/h.xplane.pb': (1, 'sent nothing for 2 s'), 'page/h.xplane.pb': (1, 'web page'),
        'same/host0.xplane.pb': (0, 'MiB in 2 requests'), 'other/h.xplane.pb': (1, 'a server without encryption'),
        'file/h.xplane.pb': (1, "redirects to 'file:///etc/passwd', an address that is neither https:// nor|status 302"), 'loop/h.pb': (1, 'redirected more than 5 times'), 'user/h.pb': (1, 'an address with a name or a password in it, and stepscope does not follow it'),
        'tls/h.xplane.pb': (1, 'cannot be fetched: .*(certificate|SSL)'),
    }
    for path, (status, said) in cases.items():
        if path.startswith('page'):     # it is a file, and no profile
            done = c.run('summary', f'http://127.0.0.1:{s.port}/{path}')
            c.check(path, done.returncode == 1 and b'web page' in done.stderr, done.stderr)
            continue
        c.case(path, ['runs', f'http://127.0.0.1:{s.port}/{path}?token={SECRET}'], status, said)
    c.case('nobody listens', ['runs', 'http://127.0.0.1:1/h.xplane.pb'], 1, 'cannot be fetched')
    c.case('http elsewhere', ['runs', 'http://192.0.2.1/h.xplane.pb'], 1, 'is not encrypted')
    c.case('a name that begins as this machine', ['runs', 'http://127.0.0.1.example.org/h.xplane.pb'], 1, 'is not encrypted')
    c.case('a password', ['runs', f'https://a:{SECRET}@example.org/h.xplane.pb'], 1, "'https://example.org/h.xplane.pb' contains a name or a password")
    for path, said in (('s3a://b/x', 'write s3://BUCKET/PATH'), ('gcs://b/x', 'write gs://BUCKET/PATH'), ('file:///x', 'write the path without file://'),
                       ('hf://b/x', 'stepscope opens https://'), ('S3://b/x', 'in small letters'), ('HTTPS://localhost/x', 'in small letters')):
        c.case(path, ['runs', path], 1, re.escape(f"'{path}' cannot be opened: ") + '.*' + said)
    done = subprocess.run(['sh', '-c', 'exec "$0" summary - <&-', c.binary], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=c.env)
    c.check('standard input is closed', done.returncode == 1 and b'which is closed' in done.stderr, done.stderr)
    c.case('a blank', ['runs', 'https://example.org/a b'], 1, 'is not an address')
    c.check('no credential was sent', all(a is None for _, _, a in s.seen))


def limits(c, s):
    cache = {'STEPSCOPE_CACHE': os.path.join(c.scratch, 'small'), 'STEPSCOPE_CACHE_MB': '100'}
    urls = [f'http://127.0.0.1:{s.port}/ranges/{i}/run.tar' for i in range(4)]

    def bytes_kept():
        return sum(os.path.getsize(os.path.join(d, n)) for d, _, names in os.walk(cache['STEPSCOPE_CACHE']) for n in names)
    for url in urls[:2]:
        c.case('filling the cache', ['runs', url], 0, 'MiB in', **cache)
        time.sleep(0.02)
    c.case('the first is used', ['runs', urls[0]], 0, 'has not changed', **cache)
    c.case('beyond the limit', ['runs', urls[2]], 0, 'MiB in', **cache)
    c.check('the cache stays below it', bytes_kept() < 100 << 20, bytes_kept())
    c.case('what was used last is there', ['runs', urls[0]], 0, 'has not changed', **cache)
    c.case('what was not is gone', ['runs', urls[1]], 0, 'MiB in', **cache)
    cache['STEPSCOPE_CACHE_MB'] = '0'
    c.case('no cache', ['runs', urls[3]], 0, 'MiB in', **cache)
    c.check('keeps nothing', bytes_kept() < 1000, bytes_kept())
    at_once = [subprocess.Popen([c.binary, 'runs', f'http://127.0.0.1:{s.port}/ranges/both/run.tar'], env=c.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
               for _ in range(3)]
    said = b''.join(p.communicate(timeout=60)[1] for p in at_once)
    c.check('three programs fetch it once', said.count(b'has not changed') == 2 and all(p.returncode == 0 for p in at_once), said)
    done = c.run('runs', urls[0], STEPSCOPE_CACHE='/proc/nothing')
    c.check('no place for a cache', done.returncode == 1 and b'STEPSCOPE_CACHE sets another place' in done.stderr, done.stderr)


def encrypted(c, s):
    own = {'SSL_CERT_FILE': os.path.join(c.scratch, 'cert.pem')}
    c.case('https', ['summary', f'https://localhost:{s.tls}/ranges/host0.xplane.pb?sig={SECRET}'], 0, r'MiB in 1 request\n', **own)
    c.case('https in ranges', ['summary', f'https://localhost:{s.tls}/ranges/run.tar'], 0, r'MiB in 6 requests\n', **own)
    c.case('a redirection to another server over https', ['runs', f'http://127.0.0.1:{s.port}/tls/h.xplane.pb'], 0, 'MiB in 2 requests', **own)
    c.case('another name than the certificate has', ['runs', f'https://127.0.0.1:{s.tls}/ranges/host0.xplane.pb'], 1, 'cannot be fetched: the certificate of its server is not accepted .*SSL_CERT_FILE', **own)
    c.case('http to a port of https', ['runs', f'http://127.0.0.1:{s.tls}/ranges/host0.xplane.pb'], 1, 'cannot be fetched: .*A server for https:// answers http:// requests like this')
    c.case('an unknown authority', ['runs', f'https://localhost:{s.tls}/ranges/x/host0.xplane.pb'], 1, 'cannot be fetched: the certificate of its server is not accepted .*SSL_CERT_FILE')
    c.check('no query is written down', not any(SECRET.encode() in open(os.path.join(d, n), 'rb').read() for d, _, names in os.walk(c.cache) for n in names)
            and not any(SECRET in d for d, _, _ in os.walk(c.cache)))


def served(c, s):
    url = f'http://127.0.0.1:{s.port}/ranges/run.tar'
    p = subprocess.Popen([c.binary, 'serve', '--port', '0', '--logdir', url + '?token=' + SECRET], stderr=subprocess.PIPE, env=c.env)
    text = b''
    for line in p.stderr:
        text += line
        if b'Ctrl-C' in line:
            break
    found = re.search(rb'http://127\.0\.0\.1:(\d+)/ \(Ctrl', text)
    import urllib.request
    with urllib.request.urlopen(f'http://127.0.0.1:{int(found[1])}/api/runs') as r:
        answer = r.read()
    c.check('serve shows it', b'host2' in answer and SECRET.encode() not in answer, answer[:300])
    p.terminate()
    p.wait(10)
    text += p.stderr.read()
    p.stderr.close()
    c.check('and tells no secret', SECRET.encode() not in text, text)
    c.check('nothing is left', not any(f for _, _, f in os.walk(c.tmp)), '')


def check_all(binary, scratch):
    c = Checks(binary, scratch)
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
                    '-addext', 'subjectAltName=DNS:localhost', '-keyout', f'{scratch}/key.pem', '-out', f'{scratch}/cert.pem'], check=True,
                   stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f'{scratch}/cert.pem', f'{scratch}/key.pem')
    s, other, tls = Server(), Server(), Server(context)
    s.other, s.tls = other.port, tls.port
    tls.other, tls.tls = other.port, tls.port
    for part in (ranges, versions, faults, limits, encrypted, served):
        part(c, s)
    c.check('a server that was not to be asked was not', not other.seen, other.seen)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('addresses', check_all))
