#!/usr/bin/env python3
"""The seeds of the fuzzer of parts (fuzz_shard.c), anew after a change of the format: contents of parts of
the recordings here, and of damaged ones.

    tests/fuzz/shard_seeds.py build/stepscope
"""
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'lib'))
from xspace import read_varint, varint  # noqa: E402

SEEDS = os.path.join(ROOT, 'tests', 'fuzz', 'seeds', 'shard')
RECORDINGS = {'tpu': 'profiles/synth_tpu_3hosts', 'barriers': 'profiles/synth_tpu_barriers', 'pipeline': 'profiles/synth_tpu_pipeline',
              'serving': 'profiles/synth_tpu_serving', 'memory': 'profiles/synth_gpu_full_memory', 'cpu': 'profiles/jax_2proc',
              'input': 'profiles/tf_inputbound_steps', 'hosts0': 'hosts/late_input', 'hosts1': 'hosts/slow_gpu', 'hosts2': 'profiles/synth_dcn_2hosts',
              'hosts3': 'profiles/gpu_v100_2hosts', 'ranks': 'torch/ranks'}
LOGS = '/srv/train/shard_seeds'
CHECK_BYTES = 8


def part_of(binary, folder):
    """A part holds the real paths of its files: they are copied to a directory that says nothing of this machine."""
    shutil.copytree(folder, LOGS)
    try:
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([binary, 'reduce', LOGS, '--shard', '0/1', '--out', out], check=True)
            with open(os.path.join(out, 'part-0-of-1.ssp'), 'rb') as f:
                return f.read()
    finally:
        shutil.rmtree(LOGS)


def contents(part):
    """Behind the line that names the version: what is deflated."""
    return zlib.decompress(part[part.index(b'\n') + 1:-CHECK_BYTES], 31)


def length_of(value):
    n = 1
    while value >> 7 * n:
        n += 1
    return n


def without_facts(data):
    """Of one host: no texts, none of them of the host, no facts."""
    at = data.index(b'stepscope skeleton')
    size = at - 1
    while data[size - 1] & 0x80:
        size -= 1
    return data[:at + read_varint(data, size)[0]] + b'\0\0\0'


def backward(data):
    """Durations of the first skeleton are others: some end before they begin."""
    at = data.index(b'stepscope skeleton') + 600
    return data[:at] + bytes(b ^ 0xff for b in data[at:at + 4]) + data[at + 4:]


def replaced(data, length_at, before, old, new):
    """The last `old` behind `before`, in the bytes whose length is at `length_at` and that hold nothing else of variable length."""
    length, begin = read_varint(data, length_at)
    at = data.rindex(before + old, begin, begin + length) + len(before)
    return data[:length_at] + varint(length - len(old) + len(new)) + data[begin:at] + new + data[at + len(old):]


def last_skeleton(data):
    at = data.rindex(b'stepscope skeleton')
    return next(n for n in range(at - 5, at) if read_varint(data, n)[1] == at)


def last_facts(data):
    """They are the last of the contents."""
    return next(at for at in range(data.rindex(b'/device:'), 0, -1) if sum(read_varint(data, at)) == len(data))


def idle_device(data):
    """A number of the last host's first step is as far from the one before as 64 bits allow: its device has no step with others."""
    begins = bytes((0, 4, 0x14, 0, 4))
    return replaced(data, last_skeleton(data), b'\1\0\0', b'\6\x14' + begins, b'\x0e' + varint(2 ** 63 - 1) + begins)


def times_at_both_ends(data):
    """A time of the host is at the end of 64 bits."""
    return replaced(data, last_facts(data), b'\0\xe4\xd8\xac\x2e\0', b'\x80\xcb\xd1\x30', varint(2 ** 64 - 2))


def failure_without_reason(data):
    """The facts of the only host say that none can be made, and no words."""
    begin = last_facts(data)
    bytes_of_planes, at = read_varint(data, begin + length_of(len(data) - begin))
    at += bytes_of_planes
    for _ in range(4):      # planes, events that were dropped and clipped, whether it was imported
        _, at = read_varint(data, at)
    facts = data[begin + length_of(len(data) - begin):at] + b'\0\0' + b'\5\0'   # it is a profile; a code and no text
    return data[:begin] + varint(len(facts)) + facts


def main():
    binary = os.path.abspath(sys.argv[1])
    seeds = {}
    for name, folder in RECORDINGS.items():
        part = part_of(binary, os.path.join(ROOT, 'tests', 'data', folder))
        seeds[name] = contents(part)
        if name == 'serving':
            seeds['whole'] = part
    seeds['hosts3'] = without_facts(seeds['hosts3'])
    seeds['idle_device'] = idle_device(seeds['hosts1'])
    seeds['times_at_both_ends'] = times_at_both_ends(seeds['serving'])
    seeds['backward'] = backward(seeds['hosts1'])
    seeds['failure_without_reason'] = failure_without_reason(seeds['serving'])
    for name, data in seeds.items():
        with open(os.path.join(SEEDS, name), 'wb') as f:
            f.write(data)


if __name__ == '__main__':
    main()
