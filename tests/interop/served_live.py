#!/usr/bin/env python3
"""A program with libsstrace's server in it, captured by the clients of XProf and of TensorFlow, and read by stepscope."""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from against_xprof import BIN, RECORD, XPROF

PROGRAM = """
import sstrace, time
print(sstrace.serve(), flush=True)
for number in range(1000000):
    with sstrace.step("train", number), sstrace.trace("work", number=number):
        time.sleep(0.002)
"""

CLIENTS = {
    'xprof': (XPROF, """
import sys
from xprof.convert import _pywrap_profiler_plugin as plugin
plugin.trace('localhost:' + sys.argv[1], sys.argv[2], '', True, 400, 1, {'host_tracer_level': 2})
"""),
    'tensorflow': (RECORD, """
import sys, tensorflow as tf
tf.profiler.experimental.client.trace('grpc://localhost:' + sys.argv[1], sys.argv[2], 400)
"""),
}

# XProf opens what was captured: the steps of its overview.
STEPS = """
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], 'overview_page', {})
tables = json.loads(data)
print(max(len(t['rows']) for t in tables if any(c.get('id') == 'stepnum' for c in t.get('cols', []))))
"""


def out_of(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, **more)
    if done.returncode:
        sys.exit(f'{command[0]}: status {done.returncode}: {done.stderr[-1500:]}')
    return done.stdout


def captured_by(name, port, logdir):
    """How many of our events the profile has, in order, or a sentence of what is wrong."""
    python, script = CLIENTS[name]
    out_of([python, '-c', script, port, logdir])
    files = glob.glob(f'{logdir}/plugins/profile/*/*.xplane.pb')
    if [os.path.basename(f) for f in files] != [f'localhost_{port}.xplane.pb']:
        return f'files are {files}'
    trace = json.loads(out_of([BIN, 'tool', 'trace_viewer', logdir, '--format', 'xprof']))
    numbers = [int(e['args']['number']) for e in trace['traceEvents'] if e.get('name') == 'work']
    if len(numbers) < 20 or numbers != list(range(numbers[0], numbers[-1] + 1)):
        return f'events are {numbers}'
    steps = int(out_of([XPROF, '-c', STEPS, files[0]]).split()[-1])
    return '' if steps >= len(numbers) - 3 else f'XProf finds {steps} steps of {len(numbers)}'


def main():
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, 'instrument'),
               SSTRACE_LIBRARY=os.path.join(ROOT, 'build/instrument/libsstrace.so'))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch, \
            subprocess.Popen([sys.executable, '-c', PROGRAM], stdout=subprocess.PIPE, text=True, env=env) as program:
        try:
            port = program.stdout.readline().strip()
            for name in CLIENTS:
                wrong = captured_by(name, port, os.path.join(scratch, name))
                passed += not wrong
                failed += bool(wrong)
                if wrong:
                    print(f'{name}: {wrong}')
        finally:
            program.kill()
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
