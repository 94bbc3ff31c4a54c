#!/usr/bin/env python3
"""Drawings of the sample programs for Graphviz, compared with those that expected_drawings/ holds.

    drawings.py [--bin build/stepscope]     compare
    drawings.py --rewrite                   write what is expected anew; review the diff

They are in the form of tests/interop/dot_text.py, in which XProf's are the same (tests/interop/programs_live.py asks it).
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'interop'))
import dot_text
import xspace

EXPECTED = os.path.join(HERE, 'expected_drawings')
PROGRAMS = os.path.join(os.path.dirname(HERE), 'data', 'hlo')
# Program, node (empty: the root), width, further parameters
CASES = (
    ('control', '', 9, ()), ('control', 'f', 1, ('merge_fusion=true',)), ('operations', '', 2, ()), ('convolutions', '', 3, ()),
    ('collectives', '', 2, ()), ('asynchronous', '', 9, ('show_metadata=true',)), ('layouts', '', 3, ()), ('literals', '', 2, ()),
    ('attributes', '', 2, ()), ('train_step', '', 4, ('show_metadata=true',)),
)


def profile(folder, name):
    """A profile that holds this program and nothing else."""
    with open(os.path.join(PROGRAMS, name + '.pb'), 'rb') as f:
        program = f.read()
    run = os.path.join(folder, name, 'plugins', 'profile', 'run')
    if not os.path.exists(run):
        os.makedirs(run)
        plane = [[1, 0, 1], [2, 2, b'/host:metadata'], [5, 2, [[1, 0, 1], [2, 2, [[1, 0, 1], [2, 2, b'Hlo Proto']]]]],
                 [4, 2, [[1, 0, 1], [2, 2, [[1, 0, 1], [2, 2, name.encode() + b'(1)'], [5, 2, [[1, 0, 1], [6, 2, program]]]]]]]]
        with open(os.path.join(run, 'vm.xplane.pb'), 'wb') as f:
            f.write(xspace.serialize([[1, 2, plane]]))
    return os.path.join(folder, name)


def draw(binary, logdir, node, width, more):
    params = ['format=dot', f'node_name={node}', f'graph_width={width}', *more]
    argv = [binary, 'tool', 'graph_viewer', logdir, '--format', 'xprof']
    for p in params:
        argv += ['--param', p]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return dot_text.form(done.stdout.decode()) + '\n' if done.returncode == 0 else done.stderr.decode()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default='build/stepscope')
    ap.add_argument('--rewrite', action='store_true')
    args = ap.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, node, width, more in CASES:
            path = os.path.join(EXPECTED, f'{name}-{node or "root"}.dot')
            got = draw(args.bin, profile(folder, name), node, width, more)
            if args.rewrite:
                os.makedirs(EXPECTED, exist_ok=True)
                with open(path, 'w') as f:
                    f.write(got)
            with open(path) as f:
                good = f.read() == got
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f'{name} {node}: another drawing\n{got[:2000]}')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
