#!/usr/bin/env python3
"""
Profiles whose times and numbers are as large as 64 bits can be, through every tool, under the undefined-behaviour sanitizer:
extreme.py [--bin build-asan/tests/cut_and_flip] [--seeds N]. Whatever an answer then says, nothing overflows on the way to it.
"""
import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import profiles
import xspace

SAMPLE_BYTES = 60_000
WHOLE = (0, 1, 1 << 31, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 63) - 1000, 9_223_372_036_854_775)
REAL = (0.0, -1.0, 1e300, -1e300, 9.3e18, -9.3e18, 1.9e19, 1e-300, float('inf'), float('-inf'), float('nan'))


def stretch(fields, kind, rnd, share):
    """Some of the times of lines and events, and of the numbers of stats, become extreme ones."""
    for f in fields:
        number, wire, value = f
        below = xspace.MESSAGES[kind].get(number)
        if isinstance(value, list) and below:
            stretch(value, below, rnd, share)
        elif rnd.random() >= share:
            continue
        elif wire == 0 and (kind, number) in (('line', 3), ('line', 9), ('event', 2), ('event', 3), ('event', 5),
                                              ('stat', 3), ('stat', 4)):
            f[2] = rnd.choice(WHOLE)
        elif wire == 1 and kind == 'stat':
            f[2] = struct.pack('<d', rnd.choice(REAL))


def samples():
    for name in profiles.names():
        for folder, _, files in os.walk(os.path.join(profiles.ROOT, name)):
            for file in sorted(files):
                path = os.path.join(folder, file)
                if file.endswith('.xplane.pb') and os.path.getsize(path) <= SAMPLE_BYTES:
                    yield name, path


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--bin', default='build-asan/tests/cut_and_flip')
    ap.add_argument('--seeds', type=int, default=3)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as top:
        for name, path in samples():
            with open(path, 'rb') as f:
                data = f.read()
            for seed in range(args.seeds):
                fields = xspace.parse(data)
                stretch(fields, 'space', random.Random(f'{name} {seed}'), (0.02, 0.3, 1.0)[seed % 3])
                with open(os.path.join(top, f'{name}-{seed}.xplane.pb'), 'wb') as f:
                    f.write(xspace.serialize(fields))
        return subprocess.run([args.bin, top, '1', '1'], check=False).returncode


if __name__ == '__main__':
    sys.exit(main())
