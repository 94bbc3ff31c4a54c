#!/usr/bin/env python3
"""The commands that take profiles, against a stand-in for the profiled program and one for Google's servers: words, statuses, files."""
import csv
import glob
import http.client
import http.server
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'tests/lib'))
import checks
import serving

SAMPLE = glob.glob(os.path.join(ROOT, 'tests/data/profiles/synth_tpu_infeed/**/*.xplane.pb'), recursive=True)[0]
counts = checks.Counts()
BIN = PEER = None


def check(what, good, *details):
    counts.check(what, good, ' '.join(map(str, details)))


class Peer:
    """A program that can be profiled."""

    def __init__(self, *how, profile=SAMPLE):
        self.proc = subprocess.Popen([PEER, profile, *how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.proc.stdout.readline())
        self.address = f'127.0.0.1:{self.port}'

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.stdin.close()
        self.asked = self.proc.stdout.read().splitlines()
        self.proc.stdout.close()
        check('the peer ends in order', self.proc.wait(20) == 0)


def run(*args, name='stepscope', env=None):
    return subprocess.run([name, *args], executable=BIN, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env={**os.environ, **(env or {})})


def below(logdir):
    return sorted(os.path.relpath(f, logdir) for f in glob.glob(f'{logdir}/**', recursive=True, include_hidden=True)
                  if os.path.isfile(f))


def same_as_sample(path):
    with open(path, 'rb') as a, open(SAMPLE, 'rb') as b:
        return a.read() == b.read()


def words(done, status, *texts):
    return done.returncode == status and all(t in done.stdout + done.stderr for t in texts)


def takes(scratch):
    with Peer() as peer:
        logdir = f'{scratch}/takes'
        done = run('capture', '-a', f'grpc://{peer.address}', '-l', logdir, '--session_id', 'r', '-d', '50')
        name = f'plugins/profile/r/127.0.0.1_{peer.port}.xplane.pb'
        check('a profile is taken', words(done, 0, 'Where the time', 'TPU v6 Lite') and below(logdir) == [name], done)
        check('byte for byte', same_as_sample(f'{logdir}/{name}'))
        done = run('capture', peer.address, f'{scratch}/operands', '-d', '50', '--no_summary')
        check('operands instead of options', words(done, 0) and done.stdout == '', done)
        done = run('capture', '-a', peer.address, '-l', logdir, '--session_id', 'r')
        check('no run is replaced', words(done, 2, 'another --session_id'), done)
        hosts = f'{scratch}/hosts'
        with open(hosts, 'w') as f:
            f.write(f'# all of them\n{peer.address}  # here\n\n')
        done = run('capture', '--hosts', hosts, '-l', f'{scratch}/file', '-d', '50', '--no_summary')
        check('hosts from a file', words(done, 0) and len(below(f'{scratch}/file')) == 1, done)
        done = run('capture', '-a', peer.address, '-l', f'{scratch}/server', '--write', 'server', '-d', '50', '--no_summary')
        check('the program writes', words(done, 0, 'the program wrote the profile itself') and len(below(f'{scratch}/server')) == 1, done)
    check('it was asked', peer.asked[0] == f'Profile {peer.address} 50', peer.asked)


def refuses(scratch):
    logdir = f'{scratch}/refuses'
    for args, status, text in ((['-a', 'localhost:1', '-l', logdir, '--num_tracing_attempts', '1'], 1, 'refused'),
                               (['-a', 'localhost:1', '-l', logdir, '--num_tracing_attempts', '1'], 1, 'profiler\'s port open?'),
                               (['-a', 'nowhere', '-l', logdir], 2, 'host:port'),
                               (['-a', 'a.invalid:1', '-l', logdir, '--num_tracing_attempts', '1'], 1, 'a.invalid'),
                               (['-a', 'localhost:1'], 2, '--logdir'),
                               (['-l', logdir], 2, '--service_addr'),
                               (['-a', 'localhost:1', '-l', logdir, '-d', '0'], 2, 'greater than zero'),
                               (['-a', 'localhost:1', '-l', logdir, '-d', 'x'], 2, 'is not a number'),
                               (['-a', 'localhost:1', '-l', logdir, '--session_id', '../x'], 2, 'not a valid run name'),
                               (['-a', 'localhost:1', '-l', '/proc/x'], 1, 'cannot make the directory'),
                               (['-a', 'localhost:1', '-l', logdir, '--tls_ca', '/nowhere'], 1, '/nowhere'),
                               (['--hosts', '/nowhere', '-l', logdir], 1, '/nowhere'),
                               (['--hosts', '/dev/null', '-l', logdir], 1, 'names no host')):
        done = run('capture', *args)
        check(f'capture {args}', words(done, status, text) and not os.path.exists(logdir), done)
    with Peer('empty') as peer:
        done = run('capture', '-a', peer.address, '-l', logdir, '-d', '10', '--num_tracing_attempts', '2')
        check('nothing traced', words(done, 1, 'no trace event was collected after 2 attempts') and not os.path.exists(logdir), done)
    check('asked twice', len(peer.asked) == 2, peer.asked)
    with Peer('slow') as peer:
        done = run('capture', '-a', peer.address, '-l', logdir, '--timeout_s', '1', '--num_tracing_attempts', '1')
        check('no answer in time', words(done, 1, 'DEADLINE_EXCEEDED') and not os.path.exists(logdir), done)
        proc = subprocess.Popen([BIN, 'capture', '-a', peer.address, '-l', logdir], stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        proc.send_signal(signal.SIGINT)
        text = proc.communicate(timeout=10)[1]
        check('Ctrl-C', proc.returncode == 1 and 'cancelled' in text and not os.path.exists(logdir), text)


def interrupted(scratch):
    """Ctrl-C while a master or a server that knows Monitor takes its time."""
    logdir = f'{scratch}/interrupted'
    with Peer('slow', 'master', 'monitor') as peer:
        for args, text in ((['capture', '-a', peer.address, '--worker_list', '10.0.0.1:1', '-l', logdir], 'cancelled'),
                           (['capture', '-a', peer.address, '--monitoring_level', '1'], '')):
            proc = subprocess.Popen([BIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.5)
            begin = time.monotonic()
            proc.send_signal(signal.SIGINT)
            words_said = proc.communicate(timeout=20)[1]
            check(f'Ctrl-C of {args}', proc.returncode == 1 and text in words_said and time.monotonic() - begin < 2
                  and not os.path.exists(logdir), proc.returncode, words_said)


def strangers(scratch):
    """What listens there is no profiler."""
    for says, text in ((b'HTTP/1.1 400 Bad Request\r\n\r\n', 'web server'), (b'SSH-2.0-OpenSSH_9\r\n', 'does not speak gRPC'),
                       (b'', 'without an answer'), (b'\0\0\0\4\0\0\0\0\0', 'closed the connection')):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            def answer():
                connection, _ = listener.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(says)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
            thread = threading.Thread(target=answer)
            thread.start()
            done = run('capture', '-a', f'127.0.0.1:{listener.getsockname()[1]}', '-l', f'{scratch}/strangers',
                       '--num_tracing_attempts', '1')
            thread.join()
            check(f'a stranger that says {says!r}', words(done, 1, text), done)


def full_disk(scratch):
    """Writing fails in the middle: a limit on the size of files does what a full disk does."""
    with Peer() as peer:
        logdir = f'{scratch}/full'
        done = subprocess.run(['sh', '-c', 'trap "" XFSZ; ulimit -f 1; exec "$0" capture "$@"', BIN, '-a', peer.address, '-l', logdir,
                               '--num_tracing_attempts', '1'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        check('the disk is full', words(done, 1, 'cannot write the profile to disk') and not os.path.exists(logdir), done)
        # Without the trap the signal ends it in the middle of the profile.
        done = subprocess.run(['sh', '-c', 'ulimit -f 1; exec "$0" capture "$@"', BIN, '-a', peer.address, '-l', logdir,
                               '--num_tracing_attempts', '1'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        check('killed while it writes', done.returncode == -signal.SIGXFSZ and os.path.isdir(logdir) and below(logdir) == [], done, below(logdir))


def long_one(scratch):
    """A long profile goes to disk as it comes: memory does not grow with it."""
    profile = f'{scratch}/long'
    with open(profile, 'wb') as f:
        n = (200 << 20) - 5             # one plane, whose length takes four bytes
        f.write(bytes([0x0a] + [n >> 7 * i & 0x7f | (0x80 if i < 3 else 0) for i in range(4)]))
        f.truncate(200 << 20)
    with Peer(profile=profile) as peer:
        proc = subprocess.Popen([BIN, 'capture', '-a', peer.address, '-l', f'{scratch}/long_run', '-d', '10', '--no_summary'],
                                stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(proc.pid, 0)
        proc.returncode = os.waitstatus_to_exitcode(status)
        took = [os.path.getsize(os.path.join(f'{scratch}/long_run', f)) for f in below(f'{scratch}/long_run')]
        check('all of a long profile', proc.returncode == 0 and took == [200 << 20], took)
        sanitized = 'asan' in BIN
        # The system counts what this process had when it forked as well.
        check('in little memory', sanitized or used.ru_maxrss < 60 << 10, used.ru_maxrss)


def monitors():
    with Peer('monitor') as peer:
        done = run('capture', '-a', peer.address, '--monitoring_level', '1', '--num_queries', '2')
        check('a server that knows Monitor', words(done, 0, 'sample 2', 'TPU type: TPU v2', '10.7%'), done)
    with Peer() as peer:
        one = run('capture', '-a', peer.address, '--monitoring_level', '1', '--num_queries', '1', '-d', '50')
        # without counters nothing is known of the matrix units
        check('level 1', words(one, 0, 'TPU type: TPU v6 Lite', '% of the time') and 'Matrix Units' not in one.stdout and 'idle' not in one.stdout, one)
        two = run('capture', '-a', f'{peer.address},127.0.0.1:1', '--monitoring_level', '2', '--num_queries', '1', '-d', '50')
        check('level 2', words(two, 0, 'Number of TPU Cores: 2', 'idle time', 'Step time: 0.145 ms (avg)',
                               'Infeed percentage: 6.667% (avg)', 'refused'), two)
    with Peer('rude') as peer:
        for args in (('monitor', '-a', peer.address, '-n', '1', '-i', '0', '-d', '10'), ('capture', '-a', peer.address, '--monitoring_level', '1', '--num_queries', '1')):
            done = run(*args)
            check(f'{args[0]}: a peer does not speak to the terminal', 'stepscope: done' in done.stdout + done.stderr
                  and not re.search('[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f]|^stepscope: done', done.stdout + done.stderr, re.M), done)


def watches(scratch):
    slower = glob.glob(os.path.join(ROOT, 'tests/data/profiles/tf_inputbound_steps/**/*.xplane.pb'), recursive=True)[0]
    with Peer() as one, Peer('later=' + slower) as two, Peer() as three:
        hosts = ','.join(p.address for p in (one, two, three)) + ',127.0.0.1:1'
        logdir = f'{scratch}/slow'
        done = run('monitor', '-a', hosts, '-n', '4', '-i', '0', '-d', '10', '--keep_slow', '3', '-l', logdir)
        lines = [l for l in done.stdout.splitlines() if not l.startswith('    ')][-4:]   # without the findings
        check('monitor says what it found', 'Steps wait for data' in done.stdout, done.stdout)
        # a host that runs something else is slower, but holds up nobody
        check('monitor', words(done, 0, 'look 4', 'refused') and '0.145 ms' in done.stdout and '13.33 ms' in done.stdout
              and not any(l.endswith('straggler') for l in done.stdout.splitlines()), done)
        kept = below(logdir)
        check('the slow look is kept, and no other', len(kept) == 3 and f'{two.address} took ' in done.stderr and 'the usual time is 0.145 ms: kept' in done.stderr, kept, done.stderr)
        check('whole', any(same_as_sample(f'{logdir}/{f}') for f in kept))
        proc = subprocess.Popen([BIN, 'monitor', '-a', f'{one.address},{two.address}', '-i', '60', '-d', '10', '--http', '0'],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        port = int(proc.stderr.readline().split(':')[3].split('/')[0])
        proc.stdout.readline()          # the first look is there
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
        def get(path, **headers):
            connection.request('GET', path, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        status, text = get('/metrics')
        check('metrics', status == 200 and f'stepscope_step_seconds{{host="{one.address}"}} 0.000145\n' in text
              and f'stepscope_straggler{{host="{two.address}"}} 0\n' in text and 'stepscope_up{' in text, text)
        check('the page', get('/')[0] == 200 and one.address in get('/')[1])
        check('nothing else', get('/x')[0] == 404 and get('/', Host='evil.example')[0] == 403
              and get('/', Host='127.evil.example')[0] == 403)
        connection.close()
        proc.send_signal(signal.SIGINT)
        check('Ctrl-C ends it', proc.wait(10) == 0)
        proc.stdout.close()
        proc.stderr.close()
    # The same rule as of the tool: the one whose input is late, though all steps are as long.
    run_of = os.path.join(ROOT, 'tests/data/hosts/late_input/plugins/profile/run')
    with Peer(profile=f'{run_of}/host0.xplane.pb') as one, Peer(profile=f'{run_of}/host1.xplane.pb') as two, Peer(profile=f'{run_of}/host3.xplane.pb') as three:
        done = run('monitor', '-a', ','.join(p.address for p in (one, two, three)), '-n', '1', '-d', '10')
        late = [l.split()[0] for l in done.stdout.splitlines() if l.endswith('  straggler')]
        check('who holds up the others', done.returncode == 0 and late == [two.address] and f"'127.0.0.1_{two.port}' holds up the other hosts" in done.stdout, done)
    for args, text in ((['-a', 'x'], 'host:port'), ([], 'no programs given'), (['-a', 'a:1', '--keep_slow', '2'], '--logdir'),
                       (['-a', 'a:1', '--keep_slow', '0.5', '-l', 'x'], 'above 1')):
        done = run('monitor', *args)
        check(f'monitor {args}', done.returncode in (1, 2) and text in done.stderr, done)


def slow_steps(scratch):
    """--keep_slow by snapshots, of programs that gather events all the time."""
    slower = glob.glob(os.path.join(ROOT, 'tests/data/profiles/tf_inputbound_steps/**/*.xplane.pb'), recursive=True)[0]
    logdir = f'{scratch}/snapshots'
    watch = ('monitor', '-i', '0', '-d', '10', '--keep_slow', '3', '-l', logdir)
    with Peer('continuous', 'later=' + slower) as one, Peer('continuous', 'forgets') as two:
        done = run(*watch, '-a', f'{one.address},{two.address}', '-n', '4')
        check('a slow step in a snapshot is kept', words(done, 0, 'ms: kept as run', 'NOT_FOUND') and len(below(logdir)) == 2, done,
              below(logdir))
    start, look, stop = ('StartContinuousProfiling - 10', 'GetSnapshot - 0', 'StopContinuousProfiling - 0')
    check('started, looked at, stopped', one.asked == [start, look, look, look, look, stop], one.asked)
    check('and started again when it was lost', two.asked == [start, look, look, look, start, look, stop], two.asked)
    with Peer('continuous') as one, Peer() as two:
        check('somebody else has started it', words(run('continuous', 'start', '-a', one.address), 0, 'collects events'))
        done = run(*watch, '-a', one.address, '-n', '1')
        check('then it goes on', words(done, 0) and run('continuous', 'stop', '-a', one.address).returncode == 0, done)
        done = run(*watch, '-a', f'{one.address},{two.address}', '-n', '2')
        check('one that cannot', words(done, 0, f'{two.address} does not support continuous') and done.stdout.count('0.145 ms') >= 4, done)
    check('short profiles instead, of all', one.asked[-3:] == [stop, f'Profile {one.address} 10', f'Profile {one.address} 10']
          and one.asked.count(stop) == 2, one.asked)
    with Peer('continuous') as one:
        proc = subprocess.Popen([BIN, *watch[:2], '60', *watch[3:], '-a', one.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)
        proc.stdout.readline()
        proc.send_signal(signal.SIGINT)
        check('Ctrl-C ends the gathering too', proc.wait(10) == 0)
        proc.stdout.close()
        proc.stderr.close()
    check('it was told', one.asked[-1] == stop, one.asked)


def called(scratch):
    """Names of hosts in a run."""
    with Peer() as one, Peer() as two:
        both = f'{one.address},{two.address}'
        logdir = f'{scratch}/called'
        done = run('capture', '-a', both, '-l', logdir, '-d', '10', '--override_hostnames', 'a, b.example:1', '--no_summary')
        check('names', words(done, 0) and [f.split('/')[-1] for f in below(logdir)] == ['a.xplane.pb', 'b.example_1.xplane.pb'], done)
        for names, text in (('a', '1 names for 2'), ('a,b,c', '3 names for 2'), ('a,a', "called 'a'"), ('a,../b', 'cannot be the name')):
            done = run('capture', '-a', both, '-l', logdir, '-d', '10', '--override_hostnames', names)
            check(f'names {names}', words(done, 2, text), done)


def continues(scratch):
    with Peer() as peer:
        for what in ('start', 'snapshot', 'stop'):
            done = run('continuous', what, '-a', f'{peer.address}', '-l', f'{scratch}/continuous')
            check(f'{what} of one that cannot', words(done, 1, 'UNIMPLEMENTED') and not below(scratch + '/continuous'), done)
    for args, text in ((['start'], 'no programs given'), (['snapshot', '-a', 'a:1'], '--logdir'), (['go', '-a', 'a:1'], 'use start')):
        done = run('continuous', *args)
        check(f'continuous {args}', words(done, 2, text), done)


class Google(http.server.BaseHTTPRequestHandler):
    """The metadata server and the Cloud TPU API."""
    nodes = {}
    seen = []

    def do_GET(self):
        Google.seen.append((self.path, self.headers.get('Authorization'), self.headers.get('Metadata-Flavor')))
        meta = {'/computeMetadata/v1/project/project-id': 'my-project',
                '/computeMetadata/v1/instance/zone': 'projects/12/zones/us-central1-b',
                '/computeMetadata/v1/instance/service-accounts/default/token': '{"access_token": "tok\\u0065n", "expires_in": 9}'}
        body = meta.get(self.path) or Google.nodes.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.end_headers()
        self.wfile.write((body or '{"error": {"code": 404}}').encode())

    def log_message(self, *args):
        pass


def by_name(scratch):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Google)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f'127.0.0.1:{server.server_port}'
    env = {'GCE_METADATA_HOST': here, 'CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU': f'http://{here}/', 'CLOUDSDK_AUTH_ACCESS_TOKEN': '',
           'no_proxy': '*'}
    path = '/v1/projects/my-project/locations/us-central1-b/nodes/'
    # No profiler listens on 8466: that it was tried there is what shows.
    Google.nodes = {path + 'one': json.dumps({'state': 'READY', 'networkEndpoints': [{'ipAddress': '127.0.0.1', 'port': 8470}]}),
                    path + 'old': json.dumps({'ipAddress': '127.0.0.2', 'port': '8470'}),
                    path.replace('v1', 'v2') + 'vm': json.dumps({'networkEndpoints': [{'ipAddress': '127.0.0.4', 'accessConfig': {}}]}),
                    path + 'two': json.dumps({'networkEndpoints': [{'ipAddress': '127.0.0.1'}, {'ipAddress': '127.0.0.3'}]}),
                    path + 'new': json.dumps({'state': 'CREATING'}), path + 'bad': '{"networkEndpoints": [{', path + 'evil':
                    json.dumps({'networkEndpoints': [{'ipAddress': 'x y/z'}]})}
    flags = ['--num_tracing_attempts=1', f'--logdir={scratch}/tpu', '--duration_ms=10']
    for name, status, text in (('one', 1, '127.0.0.1:8466'), ('old', 1, '127.0.0.2:8466'), ('vm', 1, '127.0.0.4:8466'), ('two', 1, '127.0.0.1:8466'),
                               ('none', 1, "failed to find TPU 'none' in zone us-central1-b of project my-project"),
                               ('new', 1, "its state is 'CREATING'"), ('bad', 1, 'cannot be parsed'), ('evil', 1, 'no address'),
                               ('../x', 1, 'cannot be the name')):
        done = run(f'--tpu={name}', *flags, name='capture_tpu_profile', env=env)
        check(f'TPU {name}', words(done, status, text), done)
    check('with a token', (path + 'one', 'Bearer token', None) in Google.seen, Google.seen)
    done = run('--tpu=one', '--tpu_zone=z', '--gcp_project=p', *flags, name='capture_tpu_profile', env=env)
    check('zone and project', '/v1/projects/p/locations/z/nodes/one' in [s[0] for s in Google.seen], done)
    server.shutdown()
    server.server_close()
    done = run('--tpu=one', *flags, name='capture_tpu_profile', env=env)
    check('no metadata server', words(done, 1, 'does not know its own'), done)


def old_flags(scratch):
    with Peer() as peer, Peer('master') as master:
        logdir = f'{scratch}/old'
        done = run(f'-service_addr=grpc://{peer.address}', '-logdir', logdir, '--noinclude_dataset_ops', name='capture_tpu_profile')
        check('old flags', words(done, 0, 'Where the time') and len(below(logdir)) == 1, done)
        for args, text in (([], '--service_addr or --tpu'), ([f'--service_addr={peer.address}'], '--logdir or --monitoring_level'),
                           (['--service_addr=a:1', '--monitoring_level=3'], 'from 0 to 2')):
            done = run(*args, name='capture_tpu_profile')
            check(f'misuse {args}', words(done, 2, text), done)
        workers = f'10.0.0.1:8466,{peer.address}'
        done = run(f'--service_addr={master.address}', f'--workers_list={workers}', f'--logdir={scratch}/pod', name='capture_tpu_profile')
        check('the master of a pod', words(done, 0, 'took the profile') and len(below(f'{scratch}/pod')) == 2, done)
        done = run(f'--service_addr={peer.address}', f'--workers_list={peer.address}', f'--logdir={scratch}/no', name='capture_tpu_profile')
        check('one that cannot', words(done, 0, 'Where the time') and len(below(f'{scratch}/no')) == 1, done)
        done = run(f'--service_addr={peer.address}', '--monitoring_level=2', '--num_queries=1', name='capture_tpu_profile')
        check('monitoring', words(done, 0, 'TPU idle time'), done)
    check('two seconds, or one', peer.asked[0].endswith(' 2000') and peer.asked[-1].endswith(' 1000'), peer.asked)
    check('NewSession', master.asked[0].startswith('NewSession'), master.asked)


def left_alone(logdir):
    """A master that takes its time, and ourselves as one: nothing goes on for somebody who has gone."""
    before = below(logdir)
    with Peer() as peer, Peer('slow', 'master') as slow:
        proc = subprocess.Popen([BIN, 'serve', logdir, '--port', '0', '--grpc', '0', '--allow-capture'], stderr=subprocess.PIPE, text=True)
        grpc, port = '', 0
        while not port:
            line = proc.stderr.readline()
            grpc = line.split('gRPC on ')[1].strip() if 'gRPC on' in line else grpc
            port = int(line.split(':')[3].split('/')[0]) if 'http://' in line else 0

        def ask(**query):
            connection = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
            connection.request('POST', '/data/plugin/profile/capture_profile?' + '&'.join(f'{k}={v}' for k, v in query.items()))
            reply = connection.getresponse()
            answer = reply.status, json.loads(reply.read())
            connection.close()
            return answer
        answers = []
        thread = threading.Thread(target=lambda: answers.append(ask(service_addr=slow.address, worker_list='10.0.0.1:1', duration=10)))
        thread.start()
        time.sleep(0.5)
        begin = time.monotonic()
        ask(cancel='true')
        thread.join()
        check('a master is left when that is wanted', answers[0][0] == 500 and 'CANCELLED' in answers[0][1]['error']
              and time.monotonic() - begin < 2, answers)
        caller = subprocess.Popen([BIN, 'capture', '-a', grpc, '--worker_list', slow.address, '-l', logdir], stderr=subprocess.PIPE,
                                  text=True)
        time.sleep(0.7)
        check('one at a time', 'another profile' in ask(service_addr=peer.address)[1].get('error', ''))
        caller.send_signal(signal.SIGINT)
        check('the caller ends', 'cancelled' in caller.communicate(timeout=10)[1] and caller.returncode == 1)
        time.sleep(0.6)
        check('and the master of his profile', below(logdir) == before and ask(service_addr=peer.address, duration=10)[0] == 200)
        proc.send_signal(signal.SIGINT)
        check('the server ends', proc.wait(10) == 0)
        proc.stderr.close()


def over_http(scratch):
    route = '/data/plugin/profile/capture_profile'
    logdir = f'{scratch}/http'
    os.mkdir(logdir)
    with Peer() as peer, Peer('empty') as empty, Peer('slow') as slow:
        with serving.Server(f'{BIN} serve --logdir {{logdir}} --port {{port}} --allow-capture', logdir) as server:
            def ask(headers=None, **query):
                status, body = server.get(route, query, headers or {'Sec-Fetch-Site': 'same-origin'})
                return status, json.loads(body)
            check('the button shows', json.loads(server.get('/data/plugin/profile/config')[1])['hideCaptureProfileButton'] is False)
            done = ask(service_addr=f'grpc://{peer.address}', duration=50, is_tpu_name='false', worker_list='', delay=0, num_retry=3)
            runs = [f.split('/')[2] for f in below(logdir)]
            check('over HTTP', done == (200, {'result': 'Capture profile successfully. Please refresh.', 'run': runs[0]}), done)
            check('the run shows', json.loads(server.get('/data/plugin/profile/runs')[1]) == runs)
            status, answer = ask(service_addr=f'{peer.address},127.0.0.1:1,{empty.address}', duration=10, num_retry=0)
            check('who is missing is said', status == 200 and 'refused' in answer['warning'] and answer['run'] not in runs and
                  f'{empty.address}: no trace event' in answer['warning'] and peer.address not in answer['warning'], answer)
            before = below(logdir)
            for query, text in (({'service_addr': empty.address}, 'UNAVAILABLE: no trace event'), ({}, "'service_addr' is missing"),
                                ({'service_addr': 'x'}, 'INVALID_ARGUMENT'), ({'service_addr': peer.address, 'duration': 'x'}, 'duration'),
                                ({'service_addr': '127.0.0.1:1'}, 'refused')):
                status, answer = ask(duration=query.pop('duration', 10), **query)
                check(f'refused {query}', status == 500 and text in answer['error'], status, answer)
            for headers in ({'Origin': 'http://evil.example'}, {'Sec-Fetch-Site': 'cross-site'}, {'Sec-Fetch-Site': 'same-site'},
                            {'Host': 'evil.example'}):
                check(f'from elsewhere {headers}', ask(headers, service_addr=peer.address)[0] == 403)
            here = {'Origin': f'http://127.0.0.1:{server.port}', 'Sec-Fetch-Site': 'same-origin'}
            thread = threading.Thread(target=lambda: swallow(ask, here, slow.address))
            thread.start()
            time.sleep(0.5)
            check('one at a time', 'another profile' in ask(service_addr=peer.address)[1].get('error', ''))
            check('nothing more', below(logdir) == before or all('.part' in f for f in set(below(logdir)) - set(before)))
        thread.join()
        check('ended in the middle: nothing is left', below(logdir) == before, below(logdir))
    check('what was asked', len(peer.asked) == 2, peer.asked)
    left_alone(logdir)
    with serving.Server(f'{BIN} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
        check('off by default', server.get(route, {'service_addr': 'localhost:1'})[0] == 501)
    for args, text in (([logdir, '--bind', '0.0.0.0'], 'loopback'), ([os.path.dirname(SAMPLE)], 'into a log directory'),
                       ([SAMPLE], 'into a log directory')):
        done = run('serve', *args, '--port', '0', '--allow-capture')
        check(f'serve {args}', words(done, 1, text), done)


def over_tls(logdir, token_file):
    """HTTP and gRPC of one server over TLS."""
    pem = {name: os.path.join(ROOT, 'tests/data/tls', name) for name in ('server.crt', 'server.key', 'ca.crt', 'other.crt')}
    proc = subprocess.Popen([BIN, 'serve', logdir, '--port', '0', '--grpc', '0', '--token-file', token_file, '--tls-cert',
                             pem['server.crt'], '--tls-key', pem['server.key']], stderr=subprocess.PIPE, text=True)
    said = ''
    while 'https://' not in said:
        said += proc.stderr.readline()
    port, grpc = int(said.split('https://')[1].split(':')[1].split('/')[0]), int(said.split('gRPC on ')[1].split(':')[1].split()[0])
    with open(token_file) as f:
        token = f.readline().strip()

    def get(authority, path='/api/runs'):
        connection = http.client.HTTPSConnection('localhost', port, timeout=20, context=ssl.create_default_context(cafile=pem[authority]))
        connection.request('GET', f'{path}?token={token}')
        reply = connection.getresponse()
        answer = reply.status, reply.headers['Set-Cookie'], reply.read()
        connection.close()
        return answer
    status, cookie, body = get('ca.crt')
    check('HTTP over TLS', status == 200 and cookie.endswith('; Secure') and json.loads(body)['runs'], status, cookie, body[:200])
    try:
        get('other.crt')
        check('a certificate of somebody else', False)
    except ssl.SSLError:
        check('a certificate of somebody else', True)
    try:
        check('plain HTTP is not answered', not urllib.request.urlopen(f'http://localhost:{port}/', timeout=5))
    except (OSError, http.client.HTTPException):
        check('plain HTTP is not answered', True)
    at, known = f'grpcs://localhost:{grpc}', {'STEPSCOPE_GRPC_TOKEN_FILE': token_file, 'SSL_CERT_FILE': pem['ca.crt']}
    for what, path, env, status, text in (
            ('grpcs:// as PATH', at, known, 0, 'requests'), ('it without a token', at, {**known, 'STEPSCOPE_GRPC_TOKEN_FILE': ''}, 1, 'STEPSCOPE_GRPC_TOKEN_FILE names a file'),
            ('it by another authority', at, {**known, 'SSL_CERT_FILE': pem['other.crt']}, 1, 'certificate'), ('it without TLS', at.replace('grpcs', 'grpc'), known, 1, 'UNAVAILABLE'),
            ('a token that would be readable', 'grpc://192.0.2.1:1', known, 1, 'is not encrypted'), ('a token that is none', at, {**known, 'STEPSCOPE_GRPC_TOKEN_FILE': '/dev/null'}, 1, 'holds no token')):
        done = run('summary', path, env=env)
        check(what, words(done, status, text) and token not in done.stderr + done.stdout, done)
    done = run('remote', f'localhost:{grpc}', '--token_file', token_file, '--tls_ca', pem['ca.crt'])
    check('gRPC over TLS', words(done, 0, 'overview_page'), done)
    done = run('remote', f'localhost:{grpc}', '--token_file', token_file)
    check('not without', words(done, 1, 'closed the connection'), done)
    proc.send_signal(signal.SIGINT)
    check('it ends', proc.wait(10) == 0)
    proc.stderr.close()
    for args, text in ((['--tls-cert', pem['server.crt']], 'both a certificate and its key'),
                       (['--tls-cert', pem['ca.crt'], '--tls-key', pem['server.key']], ''),
                       (['--tls-cert', '/nowhere', '--tls-key', pem['server.key']], '/nowhere')):
        done = run('serve', logdir, '--port', '0', *args)
        check(f'serve {args}', words(done, 1, text), done)


def wider(scratch):
    """Servers that others can reach want a token."""
    token_file = f'{scratch}/token'
    with open(token_file, 'w') as f:
        f.write('geheim-7\n')
    logdir = os.path.dirname(SAMPLE)

    def asking(args, what, token=None):
        proc = subprocess.Popen([BIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        where = ''
        while 'http://' not in where:
            where = proc.stderr.readline()
        port = int(where.split('http://')[1].split(':')[1].split('/')[0])
        made = where.split('?token=')[1].split()[0] if '?token=' in where else None
        if args[0] == 'monitor':
            proc.stdout.readline()      # the first look is there

        def get(path, **headers):
            connection = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
            connection.request('GET', path, headers=headers)
            reply = connection.getresponse()
            body = reply.read().decode(errors='replace')
            connection.close()
            return reply.status, reply.headers, body
        yield get, made or token, made
        proc.send_signal(signal.SIGINT)
        check(f'{what} ends', proc.wait(10) == 0)
        proc.stdout.close()
        proc.stderr.close()

    with Peer() as peer:
        watch = ['monitor', '-a', peer.address, '-d', '10', '-i', '60', '--http', '0']
        for args, what, given in ((['serve', logdir, '--port', '0', '--bind', '0.0.0.0'], 'serve', None),
                                  (['serve', logdir, '--port', '0', '--token-file', token_file], 'serve here', 'geheim-7'),
                                  ([*watch, '--http_bind', '0.0.0.0'], 'monitor', None),
                                  ([*watch, '--http_token_file', token_file], 'monitor here', 'geheim-7')):
            for get, token, made in asking(args, what, given):
                check(f'{what}: a token is made, or was given', bool(made) == (given is None) and (given or len(made) == 32), made)
                refused = get('/')
                check(f'{what}: nobody without', refused[0] == 401 and refused[1]['WWW-Authenticate'] == 'Bearer' and 'token' in
                      json.loads(refused[2])['error']['text'] and token not in refused[2], refused)
                check(f'{what}: none but it', [get('/', Authorization=f'Bearer {t}')[0] for t in ('', token[:-1], token + token, 'x')]
                      == 4 * [401] and get(f'/?token={token}x')[0] == 401)
                check(f'{what}: as a header', get('/', Authorization=f'Bearer {token}')[0] == 200)
                first = get(f'/?token={token}')
                cookie = first[1]['Set-Cookie'] or ''
                check(f'{what}: once in the address', first[0] == 303 and first[1]['Location'] == '?' and 'HttpOnly' in cookie
                      and 'SameSite=Strict' in cookie, first)
                elsewhere = '/metrics' if args[0] == 'monitor' else '/api/runs'
                check(f'{what}: a script needs no cookie', get(f'{elsewhere}?token={token}')[0] == 200)
                check(f'{what}: then by the cookie', get('/', Cookie=cookie.split(';')[0])[0] == 200
                      and get('/', Cookie=cookie.split('=')[0] + '=x')[0] == 401)
    for get, token, made in asking(['serve', logdir, '--port', '0', '--bind', '0.0.0.0', '--no-token'], 'open'):
        check('open to all, if one says so', not made and get('/')[0] == 200)
    over_tls(logdir, token_file)
    done = run('serve', logdir, '--no-token', '--token-file', token_file)
    check('one or the other', words(done, 2, 'contradict'), done)
    done = run('serve', logdir, '--token-file', '/dev/null')
    check('an empty token is none', words(done, 1, 'holds no token'), done)


def shown_here(logdir):
    """grpc://HOST:PORT as PATH: the answers of the server are shown as if they lay here."""
    proc = subprocess.Popen([BIN, 'serve', logdir, '--port', '0', '--grpc', '0', '--no-token'], stderr=subprocess.PIPE, text=True)
    where = ''
    while 'gRPC on' not in where:
        where = proc.stderr.readline()
    at = 'grpc://' + where.split('gRPC on ')[1].strip()
    done = run('summary', at)
    check('a summary of its answers', words(done, 0, 'requests', 'not read: ') and 'not computed here' in done.stdout, done)
    want, got = (run('tool', 'op_profile', path, '--format', 'csv') for path in (logdir, at))
    rows = [[(r['name'], r['time_ps'], r['children']) for r in csv.DictReader(d.stdout.splitlines())] for d in (want, got)]
    check('its operations', want.returncode == got.returncode == 0 and rows[0] == rows[1] != [], got.stderr)
    done = run('tool', 'trace_viewer@', at, '--format', 'xprof')
    check('its events', done.returncode == 0 and len(json.loads(done.stdout)['traceEvents']) > 100, done.stderr)
    done = run('runs', at + '/none')
    check('no such run', words(done, 1, "there is no run 'none'"), done)
    proc.send_signal(signal.SIGINT)
    proc.wait(10)
    proc.stderr.close()
    with Peer() as peer:
        done = run('summary', f'grpc://{peer.address}')
        check('one that stores no runs', words(done, 1, 'UNIMPLEMENTED', 'stepscope capture'), done)


def from_elsewhere(scratch):
    """Runs and answers of a server over gRPC."""
    token_file = f'{scratch}/grpc_token'
    with open(token_file, 'w') as f:
        f.write('secret\n')
    logdir = os.path.join(ROOT, 'tests/data/profiles/synth_tpu_infeed')
    proc = subprocess.Popen([BIN, 'serve', logdir, '--port', '0', '--grpc', '0', '--grpc-token-file', token_file],
                            stderr=subprocess.PIPE, text=True)
    where = ''
    while 'gRPC on' not in where:
        where = proc.stderr.readline()
    here = where.split('gRPC on ')[1].strip()
    known = ('--token_file', token_file)
    done = run('remote', here, *known)
    name = done.stdout.split(':')[0]
    check('its runs', words(done, 0, 'overview_page', 'trace_viewer@') and done.stdout.count('\n') == 1, done)
    done = run('remote', here, *known, '--run', name, '--tool', 'overview_page')
    local = run('tool', 'overview_page', logdir, '--format', 'xprof')
    check('an answer', done.returncode == 0 and json.loads(done.stdout) == json.loads(local.stdout), done.stderr)
    done = run('remote', here, *known, '-r', name, '-t', 'trace_viewer@', '-p', 'resolution=100', '-o', f'{scratch}/answer')
    with open(f'{scratch}/answer') as f:
        check('into a file', done.returncode == 0 and done.stdout == '' and json.load(f)['traceEvents'], done)
    for args, status, text in ((known + ('-r', 'no such', '-t', 'overview_page'), 1, 'no such'),
                               (known + ('-r', name, '-t', 'no_tool'), 1, 'no_tool'), (known + ('--root', '/etc'), 1, 'log directory'),
                               ((), 1, 'UNAUTHENTICATED'), (('-r', name), 2, 'given together'), (('-p', 'x'), 2, 'does not have the form')):
        done = run('remote', here, *args)
        check(f'remote {args}', words(done, status, text) and done.stdout == '', done)
    done = run('summary', f'grpc://{here}')
    check('a token is wanted', words(done, 1, 'UNAUTHENTICATED', 'STEPSCOPE_GRPC_TOKEN_FILE'), done)
    proc.send_signal(signal.SIGINT)
    check('the server ends', proc.wait(10) == 0)
    proc.stderr.close()
    shown_here(logdir)
    done = run('remote', here)
    check('nobody there', words(done, 1, 'refused'), done)
    with Peer() as peer:
        done = run('remote', peer.address)
        check('one that has no runs', words(done, 1, 'UNIMPLEMENTED', 'stepscope capture'), done)


def swallow(ask, headers, address):
    try:
        ask(headers, service_addr=address)
    except OSError:     # the server ends in the middle of it
        pass
    except http.client.HTTPException:
        pass


def check_all(binary, scratch):
    global BIN, PEER
    BIN = binary
    PEER = os.path.join(os.path.dirname(BIN), 'tests/profiler_peer')
    for part in (takes, refuses, interrupted, strangers, full_disk, long_one, by_name, old_flags, over_http, watches, slow_steps, called, wider, from_elsewhere, continues):
        part(scratch)
    monitors()
    return counts


if __name__ == '__main__':
    sys.exit(checks.main('capture', check_all))
