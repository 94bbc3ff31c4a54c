#!/usr/bin/env python3
"""Record with today's JAX and TensorFlow, open with stepscope, and compare with what XProf says of the same recording."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_xprof


def record(script, logdir):
    done = subprocess.run([against_xprof.RECORD, os.path.join(HERE, script), logdir], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode:
        sys.exit(f'{script} failed:\n{done.stdout[-2000:]}')
    return logdir


def step_count(logdir):
    """Steps in the step table of the overview, as stepscope answers it."""
    run, _, files = against_xprof.run_folder(logdir)
    answer = against_xprof.ask_stepscope(logdir, run, files, 'overview_page')
    for table in answer if isinstance(answer, list) else []:
        if any(c.get('id') == 'stepnum' for c in table.get('cols', [])):
            return len(table['rows'])
    return 0


def found_steps(logdir):
    """Steps that stepscope found where nobody marked any, how, and the confidence in percent."""
    done = subprocess.run([against_xprof.BIN, 'tool', 'overview_page', logdir, '--format', 'json'],
                          stdout=subprocess.PIPE, check=True)
    tables = {t['name']: t for t in json.loads(done.stdout)['tables']}
    props = tables['diagnostics']['props']
    if 'steps_found_by' not in props:
        return 0, 'marked', 0
    return tables['steps']['nrows'], props['steps_found_by']['text'], props['steps_confidence']['value']


def main():
    judge, good = against_xprof.Judge(), True
    with tempfile.TemporaryDirectory() as scratch:
        cases = [(name, record(f'record_{name}.py', os.path.join(scratch, name))) for name in ('jax', 'tf')]
        for name, logdir in cases:
            steps = step_count(logdir)
            print(f'{name}: {steps} of 6 recorded steps found')
            good = good and steps >= 4      # the first and the last may lie partly outside of the recording
        for name in ('plain_jax', 'plain_tf'):
            logdir = record(f'record_{name}.py', os.path.join(scratch, name))
            steps, how, sure = found_steps(logdir)
            print(f'{name}: {steps} of 11 steps that nobody marked found by {how}, confidence {sure:.0f} %')
            good = good and steps == 11 and sure >= 30
            cases.append((name, logdir))
        judge.judge(cases)
    good = judge.report() and good
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
