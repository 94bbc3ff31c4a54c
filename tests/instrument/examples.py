#!/usr/bin/env python3
"""The examples of libsstrace, in C and in Python, run as their users would, and what stepscope makes of the profiles.

    tests/instrument/examples.py --bin build/stepscope --instrument build/instrument
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS = 12


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def equal(self, what, got, want):
        if got == want:
            self.passed += 1
            return
        self.failed += 1
        print(f'{what}: got {got!r}, want {want!r}')

    def holds(self, what, good):
        self.equal(what, bool(good), True)


def out_of(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)
    if done.returncode:
        raise SystemExit(f'{command}: status {done.returncode}: {done.stderr}')
    return done.stdout


def profile_of(c, name, binary, command, env):
    """Runs an example and compares what it did with what its profile says."""
    with tempfile.TemporaryDirectory() as logdir:
        said = out_of([*command, logdir, str(STEPS)], env=env).strip()
        c.holds(f'{name}: prints where the profile is', os.path.isfile(said) and said.endswith('.xplane.pb'))
        trace = json.loads(out_of([binary, 'tool', 'trace_viewer', logdir, '--format', 'xprof']))
        events = [e for e in trace['traceEvents'] if e.get('ph') == 'X']
        threads = {e['args']['name']: e['tid'] for e in trace['traceEvents'] if e.get('name') == 'thread_name'}
        count = collections.Counter(e['name'] for e in events)
        for each in ('read file', 'prepare batch', 'forward', 'backward', 'loss', 'IteratorGetNext: next batch'):
            c.equal(f'{name}: events named {each}', count[each], STEPS)
        steps = [e for e in events if 'step_num' in e.get('args', {})]
        c.equal(f'{name}: step numbers', sorted(int(e['args']['step_num']) for e in steps), list(range(STEPS)))
        c.equal(f'{name}: steps stand on the training loop', {e['tid'] for e in steps}, {threads['training loop']})
        c.equal(f'{name}: batches', sorted(int(e['args']['batch']) for e in events if e['name'] == 'prepare batch'),
                list(range(1, STEPS + 1)))
        stream = json.loads(out_of([binary, 'tool', 'trace_viewer@', logdir, '--format', 'xprof']))['traceEvents']
        ends = {end: sorted(e['bind_id'] for e in stream if e.get(end)) for end in ('flow_out', 'flow_in')}
        c.equal(f'{name}: arrows from the reader', len(ends['flow_out']), STEPS)
        c.equal(f'{name}: arrows arrive in the steps', ends['flow_in'], ends['flow_out'])
        waited = {}
        for e in events:
            if e['name'].startswith('IteratorGetNext'):
                step = next(s for s in steps if s['ts'] <= e['ts'] < s['ts'] + s['dur'])
                waited[step['name']] = waited.get(step['name'], 0) + e['dur'] / 1000
        tables = json.loads(out_of([binary, 'tool', 'input_pipeline_analyzer', logdir, '--format', 'xprof']))
        table = next(t for t in tables if 'infeed_time_ms_avg' in t.get('p', {}))
        column = next(i for i, col in enumerate(table['cols']) if col['id'] == 'infeedTimeMs')
        rows = {r['c'][0]['v']: r['c'][column]['v'] for r in table['rows']}
        c.holds(f'{name}: steps but the first and the last, which may be cut', len(rows) == STEPS - 2)
        c.equal(f'{name}: steps whose wait for input differs from its events',
                [s for s, ms in rows.items() if abs(ms - waited[s]) > 1e-3], [])


SERVED = """
import sstrace, sys, time
print(sstrace.serve(), flush=True)
for number in range(1000000):
    with sstrace.step("train", number), sstrace.trace("work", number=number):
        time.sleep(0.002)
"""


def captured(c, binary, instrument, env):
    """A program that serves, recorded by `stepscope capture`: sent, then written by the program itself."""
    with tempfile.TemporaryDirectory() as logdir:
        program = subprocess.Popen([sys.executable, '-c', SERVED], stdout=subprocess.PIPE, text=True,
                                   env=dict(env, PYTHONPATH=instrument))
        try:
            address = 'localhost:' + program.stdout.readline().strip()
            for way in ('client', 'server'):
                said = out_of([binary, 'capture', '--service_addr', address, '--logdir', logdir, '--duration_ms', '300',
                               '--write', way, '--session_id', way])
                c.holds(f'capture --write {way}: says the step time', 'Where the time' in said)
                trace = json.loads(out_of([binary, 'tool', 'trace_viewer', logdir, '--run', way, '--format', 'xprof']))
                numbers = [int(e['args']['number']) for e in trace['traceEvents'] if e.get('name') == 'work']
                c.holds(f'capture --write {way}: {len(numbers)} events of {numbers[:1]}',
                        len(numbers) > 10 and numbers == list(range(numbers[0], numbers[-1] + 1)))
        finally:
            program.kill()
            program.wait()


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--bin', default='build/stepscope')
    p.add_argument('--instrument', default='build/instrument')
    a = p.parse_args()
    c = Checks()
    env = dict(os.environ, SSTRACE_LIBRARY=os.path.abspath(os.path.join(a.instrument, 'libsstrace.so')))
    profile_of(c, 'training.c', a.bin, [os.path.join(a.instrument, 'sstrace_training')], env)
    profile_of(c, 'training.py', a.bin, [sys.executable, os.path.join(ROOT, 'instrument/examples/training.py')], env)
    captured(c, a.bin, os.path.join(ROOT, 'instrument'), env)
    missing = subprocess.run([sys.executable, '-c', 'import sstrace'], capture_output=True, text=True, check=False,
                             env=dict(env, SSTRACE_LIBRARY='/nowhere/libsstrace.so', PYTHONPATH=os.path.join(ROOT, 'instrument')))
    c.holds('no library: says how to name it', 'set SSTRACE_LIBRARY' in missing.stderr)
    unwritable = subprocess.run([sys.executable, '-c', 'import sstrace; sstrace.start(logdir="/dev/null/x")'], text=True,
                                capture_output=True, check=False, env=dict(env, PYTHONPATH=os.path.join(ROOT, 'instrument')))
    c.holds('a folder that cannot be', 'sstrace.Error: ' in unwritable.stderr and '/dev/null/x' in unwritable.stderr)
    print(f'{c.passed} passed, {c.failed} failed')
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
