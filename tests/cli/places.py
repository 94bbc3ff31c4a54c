#!/usr/bin/env python3
"""Every command of `stepscope help` in every place: archives, standard input and addresses answer as the directory does, or a sentence says why not;
and --strict makes an incomplete profile a failure of each, which leaves nothing written.

    places.py [--bin build/stepscope]
"""
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import urllib.request
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles

SAMPLE = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
PLACES = ['directory', 'a.zip', 'a.tar', 'a.tar.gz', 'a.tgz', 'a.tar.zst', '-', 'https']
# {} is the place, {out} a path that is not there yet. What is printed, or written there, is that of the directory.
READS = {
    'summary': ['summary', '{}'],
    'tool': ['tool', 'op_profile', '{}', '--format', 'json'],
    'tools': ['tools', '{}'],
    'sql': ['sql', '{}', 'SELECT host, count(*) AS n, sum(dur_ps) AS ps FROM events GROUP BY 1'],
    'export': ['export', '{}', '--host', 'host0', '--to', 'chrome', '--output', '{out}'],
    'runs': ['runs', '{}', '--quick'],
    'diff': ['diff', '{}', SAMPLE, '--format', 'json'],
    'gate': ['gate', '{}', SAMPLE, '--format', 'json'],
    'track': ['track', 'add', '{out}', '{}'],
    'reduce': ['reduce', '{}', '--out', '{out}'],
    'doctor': ['doctor', '{}'],
    'xprof': ['xprof', 'get_hlo_op_profile', '{}'],
}
SPECIAL = {'serve', 'mcp', 'merge'}             # below, each in a function of its own
# They read no profile that exists: they make one, ask a server, or print about the program itself.
NO_PATH = {'capture', 'monitor', 'continuous', 'remote', 'record', 'completion', 'demo', 'help'}
FAILED = {'diff': 2, 'gate': 2}                 # a status of 1 is a verdict there


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        data = self.server.files.get(os.path.basename(self.path.split('?')[0]))
        same = self.headers.get('If-None-Match') == '"1"'
        self.send_response(404 if data is None else 304 if same else 200)
        self.send_header('ETag', '"1"')
        self.send_header('Content-Length', str(0 if same or data is None else len(data)))
        self.end_headers()
        if data is not None and not same:
            self.wfile.write(data)


class Checks(checks.Counts):
    def __init__(self, binary, scratch):
        self.binary, self.scratch = binary, scratch
        self.n = 0
        tmp = os.path.join(scratch, 'tmp')
        os.mkdir(tmp)
        self.env = {**os.environ, 'TMPDIR': tmp, 'STEPSCOPE_CACHE': os.path.join(scratch, 'cache')}
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.files = {}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def out(self):
        """A directory that is empty, and a path in it."""
        self.n += 1
        where = os.path.join(self.scratch, f'out{self.n}')
        os.mkdir(where)
        return where, os.path.join(where, 'made')

    def run(self, args, data=None):
        given = {'stdin': subprocess.DEVNULL} if data is None else {'input': data}
        return subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env=self.env, **given)

    def places(self, directory):
        """What to call the directory in each place, and what stands on standard input."""
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode='w') as t:
            t.add(directory, '.')
        packed = {'a.tar': tar.getvalue()}
        for name, tool in (('a.tar.gz', 'gzip'), ('a.tgz', 'gzip'), ('a.tar.zst', 'zstd')):
            packed[name] = subprocess.run([tool, '-c'], input=packed['a.tar'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, 'w', zipfile.ZIP_DEFLATED) as z:
            for d, _, names in os.walk(directory):
                for n in names:
                    z.write(os.path.join(d, n), os.path.relpath(os.path.join(d, n), directory))
        packed['a.zip'] = zipped.getvalue()
        where, _ = self.out()
        found = {'directory': (directory, None), '-': ('-', packed['a.tar'])}
        for name, data in packed.items():
            with open(os.path.join(where, name), 'wb') as f:
                f.write(data)
            found[name] = (os.path.join(where, name), None)
        self.n += 1
        self.server.files[f'{self.n}.tgz'] = packed['a.tgz']
        found['https'] = (f'http://127.0.0.1:{self.server.server_address[1]}/{self.n}.tgz', None)       # this machine needs no TLS
        return found


def answer(c, args, named, data):
    """Status, what is printed or written with the place's name taken out, and what is said."""
    where, made = c.out()
    done = c.run([a.replace('{out}', made).replace('{}', named) for a in args], data)
    text = done.stdout.decode()
    if args[0] == 'export' and os.path.exists(made):
        text = open(made).read()
    elif args[0] == 'track' and os.path.exists(made):
        text = c.run(['track', 'show', made, '--format', 'csv']).stdout.decode()
    elif args[0] == 'reduce' and os.path.exists(made):
        text = c.run(['tool', 'stragglers', made, '--format', 'csv']).stdout.decode()
    name = r'(?<=["\'])-(?=["\'])|(?<=serve )-(?= )' if named == '-' else re.escape(named) + r'(?![\w-])'
    text = re.sub(name, '@', text.replace(SAMPLE, '@'))
    return done.returncode, re.sub(r'[ -]+\n', '\n', text), done.stderr.decode(), os.listdir(where)


def all_commands(c):
    listed = {line.split()[1] for line in c.run(['help']).stdout.decode().splitlines() if line.startswith('stepscope ')}
    tested = set(READS) | SPECIAL | NO_PATH
    c.check('each command has its test', listed == tested, listed ^ tested)
    for name in sorted(NO_PATH):
        done = c.run([name, '--strict'])
        c.check(f'{name} --strict is refused', done.returncode == 2 and done.stderr.startswith(b'stepscope: '), (done.returncode, done.stderr))


def same_answers(c):
    places = c.places(SAMPLE)
    for name, args in READS.items():
        want = answer(c, args, *places['directory'])
        c.check(f'{name} of a directory', want[0] == 0 and want[1], want)
        for place in PLACES[1:]:
            got = answer(c, args, *places[place])
            same = got[1] == want[1]
            if name in ('runs', 'doctor', 'track', 'xprof'):    # they name the files, and where these are
                same = len(got[1].splitlines()) == len(want[1].splitlines()) and c.env['TMPDIR'] not in got[1]
            c.check(f'{name} of {place}', got[0] == 0 and same, f'{got[0]} {got[2]} {got[1][:400]!r} {want[1][:400]!r}')


def merged(c):
    _, made = c.out()
    c.run(['reduce', SAMPLE, '--out', made])
    for place, (named, data) in c.places(made).items():
        _, whole = c.out()
        done = c.run(['merge', named, '--output', whole], data)
        c.check(f'merge of {place}', done.returncode == 0 and b'3 of 3 hosts' in done.stderr and os.path.exists(whole), done.stderr)
        if place != 'directory':
            done = c.run(['merge', named], data)
            c.check(f'merge of {place} without --output', done.returncode == 1 and b'name the file to be written with --output' in done.stderr, done.stderr)


def ask_agent(c, named, *args):
    """The answer of `stepscope mcp` to a question about the only profile, with the command that repeats it."""
    lines = [{'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {}},
             {'jsonrpc': '2.0', 'id': 2, 'method': 'tools/call', 'params': {'name': 'tools', 'arguments': {'profile': '.'}}},
             {'jsonrpc': '2.0', 'id': 3, 'method': 'tools/call', 'params': {'name': 'hlo_neighborhood', 'arguments': {'profile': '.', 'instruction': 'dot.5'}}},
             {'jsonrpc': '2.0', 'id': 4, 'method': 'tools/call', 'params': {'name': 'runs', 'arguments': {'profile': '../x'}}}]
    done = c.run(['mcp', named, *args], ''.join(json.dumps(line) + '\n' for line in lines).encode())
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def agents(c):
    places = c.places(SAMPLE)
    want = c.run(['tools', '--color=never', SAMPLE]).stdout.decode()
    for place, (named, _) in places.items():
        done, said = ask_agent(c, named)
        if place == '-':
            c.check('mcp of -', done.returncode == 1 and b"'-' is standard input, which carries the messages of the agent" in done.stderr, done.stderr)
            continue
        results = [m.get('result', {}) for m in said]
        c.check(f'mcp of {place}', done.returncode == 0 and len(results) == 4 and results[1].get('content') and results[1]['content'][0]['text'] == want, (done.stderr, said[1:2]))
        if len(results) == 4 and results[1].get('content'):
            command = results[1]['structuredContent']['command']
            c.check(f'mcp of {place}: the command that repeats it', command.endswith(' ' + named) and results[1]['structuredContent']['profile'] == named, command)
            c.check(f'mcp of {place}: neighbours', results[2]['content'][0]['text'].startswith('"instruction",') and '\n"dot.5",' in results[2]['content'][0]['text'], results[2])
            c.check(f'mcp of {place}: another path', results[3]['isError'] is True, results[3])


def served(c, directory, strict):
    """The runs that a server of each place has; with --strict on an incomplete profile it does not start."""
    for place, (named, data) in c.places(directory).items():
        p = subprocess.Popen([c.binary, 'serve', named, '--port', '0', *(['--strict'] if strict else [])], env=c.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdin.write(data or b'')
        p.stdin.close()
        said = b''
        for line in p.stderr:
            said += line
            if b'Ctrl-C' in line:
                break
        found = re.search(rb'http://127\.0\.0\.1:(\d+)/ \(Ctrl', said)
        if strict:
            c.check(f'serve --strict of {place}', not found and p.wait(60) == 1 and b'incomplete' in said, said)
        else:
            c.check(f'serve of {place}', found, said)
        if found:
            with urllib.request.urlopen(f'http://127.0.0.1:{int(found[1])}/api/runs') as r:
                c.check(f'serve of {place}: its hosts', b'host2' in r.read())
            p.terminate()
        p.wait(60)
        p.stderr.close()


def strict(c):
    """An incomplete profile is a failure with --strict; nothing is written, and without it the rest is shown."""
    _, bad = c.out()
    shutil.copytree(SAMPLE, bad)
    cut = os.path.join(bad, 'plugins', 'profile', 'run', 'host0.xplane.pb')
    os.truncate(cut, os.path.getsize(cut) - 40)
    good = c.places(SAMPLE)['a.tgz']
    for place, (named, data) in c.places(bad).items():
        for name, args in READS.items():
            if place not in ('directory', 'a.tgz', '-') and name != 'summary':
                continue                                # what is unpacked is opened as what was there
            status, text, said, made = answer(c, [*args, '--strict'], named, data)
            c.check(f'{name} --strict of {place}', status == FAILED.get(name, 1) and re.search(r'incomplete.*host0|BAD .*host0', said + text, re.S),
                    f'{status} {said!r} {text[:300]!r}')
            c.check(f'{name} --strict of {place}: nothing is written', made == [], made)
    for name, args in READS.items():
        status, text, said, _ = answer(c, [*args, '--strict'], *good)
        c.check(f'{name} --strict of a whole profile', status == 0 and text, (status, said))
        if name not in FAILED:
            status, text, said, _ = answer(c, args, bad, None)
            c.check(f'{name} of an incomplete profile', status == (name == 'doctor') and text, (status, said))
    for place in ('directory', 'a.tgz'):
        done, said = ask_agent(c, c.places(bad)[place][0], '--strict')
        told = [m.get('result', {}) for m in said]
        c.check(f'mcp --strict of {place}', done.returncode == 0 and all(t.get('isError') is True and 'incomplete' in json.dumps(t) for t in told[1:3]), told)
    served(c, bad, True)
    parts_of(c, bad)


def parts_of(c, bad):
    _, made = c.out()
    c.run(['reduce', bad, '--shard', '0/2', '--out', made])
    c.run(['reduce', bad, '--shard', '1/2', '--out', made])
    for args, status in ((['merge', made, '--strict'], 1), (['tool', 'stragglers', made, '--strict'], 1), (['tool', 'stragglers', made], 0), (['merge', made], 0)):
        done = c.run(args)
        c.check(f'{args[0]} of parts of an incomplete profile', done.returncode == status and (b'incomplete (--strict)' in done.stderr) == bool(status), done.stderr)
    c.check('both at once', c.run(['merge', made, '--strict', '--partial']).returncode == 2)
    _, less = c.out()
    c.run(['reduce', SAMPLE, '--shard', '0/2', '--out', less])
    c.run(['merge', less, '--partial'])
    done = c.run(['tool', 'host_steps', less, '--strict'])
    c.check('hosts that are in no part', done.returncode == 1 and b'1 of its 3 hosts are in no part' in done.stderr, done.stderr)


def carried(c):
    """`demo:` is what lies in tests/data/profiles, and `stepscope demo` shows it."""
    inside = {}
    packed = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'src', 'location', 'demo.tar.zst')
    plain = subprocess.run(['zstd', '-q', '-d', '-c', packed], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(plain)) as t:
        for m in t.getmembers():
            if m.isfile():
                inside[m.name] = t.extractfile(m).read()
    for name, data in inside.items():
        with open(os.path.join(profiles.ROOT, name), 'rb') as f:
            c.check(f'{name} is that of the samples', f.read() == data)
    c.check('two programs', {n.split('/')[0] for n in inside} == {'jax_mlp_train', 'synth_tpu_3hosts'} and len(inside) == 4, list(inside))
    want = c.run(['summary', os.path.join(profiles.ROOT, 'jax_mlp_train')]).stdout.decode().replace(os.path.join(profiles.ROOT, 'jax_mlp_train'), 'demo:')
    shown = c.run(['demo', '--no-serve'])
    c.check('its summary', shown.returncode == 0 and shown.stdout.decode() == want.replace('run,', 'jax_mlp_train/run,', 1), shown.stdout[:300])
    c.check('no argument', c.run(['demo', 'logs']).returncode == 2)
    p = subprocess.Popen([c.binary, 'demo', '--port', '0'], env=c.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found = None
    for line in p.stderr:
        found = re.search(rb'http://127\.0\.0\.1:(\d+)/ \(Ctrl', line)
        if found:
            break
    c.check('it is served', found)
    if found:
        with urllib.request.urlopen(f'http://127.0.0.1:{int(found[1])}/api/runs') as r:
            text = r.read()
        c.check('with both', b'jax_mlp_train' in text and b'synth_tpu_3hosts' in text, text[:200])
    p.terminate()
    p.communicate(timeout=60)
    c.check('its status', p.returncode == 0, p.returncode)


def check_all(binary, scratch):
    c = Checks(binary, scratch)
    try:
        for part in (all_commands, same_answers, merged, agents, lambda c: served(c, SAMPLE, False), strict, carried):
            part(c)
        left = [n for d, _, names in os.walk(c.env['TMPDIR']) for n in names]
        c.check('nothing is left in $TMPDIR', not left, left)
    finally:
        c.server.shutdown()
    return c


if __name__ == '__main__':
    sys.exit(checks.main('places', check_all))
