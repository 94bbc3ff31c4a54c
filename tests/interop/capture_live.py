#!/usr/bin/env python3
"""stepscope capture against the profiler servers of real JAX and TensorFlow programs, which the test starts itself."""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'tests/lib'))
import serving

PYTHON = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'stepscope/venv-record/bin/python')
BIN = os.path.join(ROOT, 'build/stepscope')
passed, failed = 0, 0


def check(what, good, *details):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f'{what}: wrong', *details)


class Program:
    def __init__(self, kind):
        self.port = serving.free_port()
        self.address = f'localhost:{self.port}'
        self.proc = subprocess.Popen([PYTHON, os.path.join(HERE, 'profiled.py'), kind, str(self.port)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        return self

    def wait_ready(self):
        line = self.proc.stdout.readline()
        if line != 'ready\n':
            sys.exit(f'the program did not start: {line!r}')

    def __exit__(self, *exc):
        self.proc.stdin.close()
        try:
            self.proc.wait(20)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.proc.stdout.close()


def capture(*args):
    return subprocess.run([BIN, 'capture', *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def steps_in(text):
    found = re.search(r'(\d+) steps? of ', text)
    return int(found.group(1)) if found else 0


def files_in(logdir):
    return sorted(os.path.basename(f) for f in glob.glob(f'{logdir}/plugins/profile/*/*'))


def one(program, logdir, write):
    done = capture('-a', program.address, '-l', logdir, '-d', '700', '--write', write)
    name = f'localhost_{program.port}.xplane.pb'
    check(f'{write} writes', done.returncode == 0 and files_in(logdir) == [name], done.stderr, files_in(logdir))
    check('its summary has steps', steps_in(done.stdout) > 3, done.stdout)


def several(programs, logdir):
    dead = f'localhost:{serving.free_port()}'
    done = capture('-a', ','.join([p.address for p in programs] + [dead]), '-l', logdir, '-d', '700', '--session_id', 'both',
                   '--no_summary')
    check('partial success is a failure that keeps', done.returncode == 1 and len(files_in(logdir)) == 2, done.stderr)
    check('who failed is said', dead in done.stderr and 'refused' in done.stderr, done.stderr)
    again = capture('-a', programs[0].address, '-l', logdir, '--session_id', 'both')
    check('no profile is replaced', again.returncode == 2 and 'another --session_id' in again.stderr, again.stderr)


def python_tracer(program, logdir):
    done = capture('-a', program.address, '-l', logdir, '-d', '300', '--python_tracer_level', '1', '--no_summary')
    data = b''.join(open(f, 'rb').read() for f in glob.glob(f'{logdir}/plugins/profile/*/*.xplane.pb'))
    check('the Python tracer traces', done.returncode == 0 and b'profiled.py' in data, done.stderr)


def interrupted(program, logdir):
    proc = subprocess.Popen([BIN, 'capture', '-a', program.address, '-l', logdir, '-d', '30000'], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    begin = time.monotonic()
    proc.send_signal(signal.SIGINT)
    words = proc.communicate(timeout=20)[1]
    check('Ctrl-C ends at once', proc.returncode == 1 and time.monotonic() - begin < 2 and 'cancelled' in words, words)
    check('and leaves nothing', not os.listdir(logdir), os.listdir(logdir))
    # The program was told: another profile can be taken at once.
    done = capture('-a', program.address, '-l', logdir, '-d', '300', '--no_summary')
    check('the program can be profiled again', done.returncode == 0, done.stderr)


def ask(*args):
    return subprocess.run([BIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def continuous(programs, logdir):
    hosts = ','.join(p.address for p in programs)
    none = ask('continuous', 'snapshot', '-a', hosts, '-l', logdir)
    check('no snapshot before the start', none.returncode == 1 and 'NOT_FOUND' in none.stderr, none.stderr)
    check('and nothing left', not os.listdir(logdir), os.listdir(logdir))
    check('start', ask('continuous', 'start', '-a', hosts).returncode == 0)
    twice = ask('continuous', 'start', '-a', hosts)
    check('not twice', twice.returncode == 1 and 'ALREADY_EXISTS' in twice.stderr, twice.stderr)
    for i in (1, 2):
        time.sleep(0.7)
        done = ask('continuous', 'snapshot', '-a', hosts, '-l', logdir)
        check(f'snapshot {i}', done.returncode == 0 and steps_in(done.stdout) > 3 and len(files_in(logdir)) == 2 * i, done.stderr)
    check('stop', ask('continuous', 'stop', '-a', hosts).returncode == 0)


def slow_steps(programs, logdir):
    """Looks are snapshots, for all of these can gather events all the time; some step is always a little longer than usual."""
    hosts = ','.join(p.address for p in programs)
    done = ask('monitor', '-a', hosts, '-n', '5', '-i', '1', '--keep_slow', '1.01', '-l', logdir)
    check('a slow step is kept', done.returncode == 0 and 'ms: kept as run' in done.stderr and 'does not support continuous' not in done.stderr
          and len(files_in(logdir)) in (2, 4), done.stderr, files_in(logdir))
    rows = [line for line in done.stdout.splitlines() if line.startswith('localhost')]
    check('every look has steps', len(rows) == 10 and all(' ms' in r for r in rows), done.stdout)
    check('it was ended', ask('continuous', 'stop', '-a', hosts).stderr.count('NOT_FOUND') == len(programs))


def monitored(programs):
    done = ask('monitor', '-a', ','.join(p.address for p in programs), '-n', '2', '-i', '0', '-d', '500')
    rows = [line for line in done.stdout.splitlines() if line.startswith('localhost')]
    check('monitor', done.returncode == 0 and len(rows) == 4 and all(' ms' in r for r in rows), done.stdout, done.stderr)
    done = capture('-a', programs[0].address, '--monitoring_level', '2', '--num_queries', '1', '-d', '500')
    check('monitoring level', done.returncode == 0 and 'Step time: ' in done.stdout, done.stdout, done.stderr)


THEIR_CLIENT = """
import os, sys
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'
from tensorflow.profiler.experimental import client
client.trace('grpc://' + sys.argv[1], sys.argv[2], 100)
print(client.monitor('grpc://' + sys.argv[1], 100, 1))
"""


def their_client(logdir):
    """TensorFlow's own client, which is XProf's too, against our server."""
    sample = glob.glob(os.path.join(ROOT, 'tests/data/profiles/tf_inputbound_steps/**/*.xplane.pb'), recursive=True)[0]
    peer = subprocess.Popen([os.path.join(ROOT, 'build/tests/profiler_peer'), sample, 'monitor'], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    port = int(peer.stdout.readline())
    done = subprocess.run([PYTHON, '-c', THEIR_CLIENT, f'localhost:{port}', logdir], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)
    peer.stdin.close()
    check('their client', done.returncode == 0 and '10.7%' in done.stdout, done.stdout, done.stderr[-500:])
    check('it has our profile', files_in(logdir) == [f'localhost_{port}.xplane.pb'], files_in(logdir))
    check('our server ends in order', peer.wait(20) == 0)
    peer.stdout.close()


def main():
    with Program('jax') as jax, Program('tf') as tf, tempfile.TemporaryDirectory() as scratch:
        def logdir(name):
            os.mkdir(f'{scratch}/{name}')
            return f'{scratch}/{name}'
        for name, program in (('jax', jax), ('tf', tf)):
            program.wait_ready()
            for write in ('client', 'server'):
                one(program, logdir(f'{name}_{write}'), write)
            interrupted(program, logdir(f'{name}_interrupted'))
        several([jax, tf], logdir('both'))
        python_tracer(jax, logdir('python'))
        continuous([jax, tf], logdir('continuous'))
        monitored([jax, tf])
        slow_steps([jax, tf], logdir('slow'))
        their_client(logdir('theirs'))
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
