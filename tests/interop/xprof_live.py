#!/usr/bin/env python3
"""Profiles that nobody has stored answers for, opened by stepscope and by XProf 2.24.2 itself.

Four variations of each sample (vary.py), jobs on TPUs, servers and
hardware counters made up from nothing (jobs.py, servers.py, counters.py), and a generated training profile. SEED in the
environment chooses others.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_xprof
import counters
import jobs
import servers
import vary
import profiles

MADE_UP = {jobs: 24, servers: 6, counters: 3}
ROOT = os.path.dirname(os.path.dirname(HERE))


def variations(scratch, seed):
    for name in profiles.names():
        if profiles.is_packed(name):    # 3 MB a host: its shapes are in the others
            continue
        files = profiles.files(name, scratch)
        for k in range(4):
            made, changes = [], []
            for i, path in enumerate(files):
                with open(path, 'rb') as f:
                    data, changes = vary.vary(f.read(), f'{seed}/{name}/{k}')
                made.append((os.path.basename(path), data))
            label = f'{name}~{k}({"+".join(changes)})'
            yield label, against_xprof.layout(scratch, f'{name}-{k}', made)


def made_up(scratch, seed):
    for maker, n in MADE_UP.items():
        for k in range(n):
            name = maker.__name__
            yield f'{name} {seed}/{k}', against_xprof.layout(scratch, f'{name}-{k}', maker.files(f'{seed}/{k}'))


def generated(scratch):
    """A training profile of 50,000 events by bench/gen_xspace.c."""
    generator = os.path.join(scratch, 'gen_xspace')
    subprocess.run(['cc', '-std=c11', '-D_DEFAULT_SOURCE', '-O2', os.path.join(ROOT, 'bench', 'gen_xspace.c'),
                    '-o', generator, '-lm'], check=True)
    folder = os.path.join(scratch, 'generated', 'plugins', 'profile', 'run')
    os.makedirs(folder)
    subprocess.run([generator, os.path.join(folder, 'vm.xplane.pb'), '50000', '7'], check=True, stdout=subprocess.DEVNULL)
    return 'generated', os.path.join(scratch, 'generated')


def main():
    judge = against_xprof.Judge()
    with tempfile.TemporaryDirectory() as scratch:
        seed = os.environ.get('SEED', '1')
        judge.judge([*variations(scratch, seed), *made_up(scratch, seed), generated(scratch)])
    return 0 if judge.report() else 1


if __name__ == '__main__':
    sys.exit(main())
