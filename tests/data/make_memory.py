#!/usr/bin/env python3
"""Writes the samples of tests/data/memory: a memory snapshot of PyTorch and a device memory profile of JAX, by hand, in the
form in which both write them. What is in them is told beside the functions; test_snapshot.c counts it."""
import gzip
import os
import pickle
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
from xspace import field, varint

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'memory')
MIB = 1 << 20


def frame(file, line, name):
    return {'filename': file, 'line': line, 'name': name}


def snapshot():
    """Device 1 of two: 1 MiB from before the events, a leak that grows, a copy freed late, and an end without memory."""
    main = frame('/srv/train/train.py', 40, 'main')
    lib = frame('/usr/lib/python3/dist-packages/torch/nn/functional.py', 9, 'linear')
    cpp = frame('??', 0, 'c10::malloc')
    forward = [cpp, lib, frame('/srv/train/model.py', 7, 'forward'), main]
    keep = [cpp, frame('/srv/train/log.py', 3, 'keep'), main]
    old = [cpp, frame('/srv/train/model.py', 2, 'init'), main]
    base = 0x7f0000000000
    events = []

    def event(action, addr, size, frames):
        events.append({'action': action, 'addr': addr, 'size': size, 'stream': 0, 'time_us': 1700000000000000 + 100 * len(events),
                       'compile_context': 'N/A', 'user_metadata': '', 'frames': frames})

    for step in range(4):
        event('alloc', base + 8 * MIB, 4 * MIB, forward)
        event('free_requested', base + 8 * MIB, 4 * MIB, forward)
        event('free_completed', base + 8 * MIB, 4 * MIB, forward)
        event('alloc', base + (1 + step) * MIB, MIB // 2, keep)
    events.append({'action': 'oom', 'size': 64 * MIB, 'stream': 0, 'time_us': 1700000000001700, 'device_free': 2 * MIB,
                   'frames': forward})

    def block(addr, size, state, frames):
        return {'address': addr, 'size': size, 'requested_size': size - 24 if state != 'inactive' else 0, 'state': state, 'frames': frames}

    blocks = [block(base, MIB, 'active_allocated', old)]
    for step in range(4):
        rest = MIB // 2 if step < 3 else 11 * MIB + MIB // 2
        blocks += [block(base + (1 + step) * MIB, MIB // 2, 'active_allocated', keep),
                   block(base + (1 + step) * MIB + MIB // 2, rest, 'inactive', [])]
    used = 3 * MIB
    segments = [{'device': 1, 'address': base, 'total_size': 16 * MIB, 'stream': 0, 'segment_type': 'large',
                 'segment_pool_id': (0, 0), 'is_expandable': False, 'allocated_size': used, 'active_size': used,
                 'requested_size': used - 5 * 24, 'frames': old, 'blocks': blocks},
                {'device': 1, 'address': base + 64 * MIB, 'total_size': 2 * MIB, 'stream': 7, 'segment_type': 'small',
                 'segment_pool_id': (0, 1), 'is_expandable': False, 'allocated_size': 0, 'active_size': 0, 'requested_size': 0,
                 'frames': [], 'blocks': [block(base + 64 * MIB, 2 * MIB, 'inactive', [])]}]
    return {'segments': segments, 'device_traces': [[], events], 'allocator_settings': {'expandable_segments': False},
            'external_annotations': []}


def jax_profile():
    """Two buffers on cuda:0 and an executable on no device."""
    strings = ['']

    def string(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    out = b''
    for kind, unit in (('allocations', 'count'), ('space', 'bytes')):
        out += field(1, field(1, string(kind)) + field(2, string(unit)))
    functions = [('__call__', '/srv/venv/jax/_src/pxla.py'), ('loss', '/srv/train/model.py'), ('main', '/srv/train/train.py')]
    samples = [([1, 2, 3], 3, 3 * MIB, {'kind': 'buffer', 'device': 'cuda:0'}), ([3], 1, MIB, {'kind': 'buffer', 'device': 'cuda:0'}),
               ([1, 3], 1, 4096, {'kind': 'executable'})]
    for locations, count, size, labels in samples:
        body = field(1, b''.join(varint(i) for i in locations)) + field(2, varint(count) + varint(size))
        for key, value in labels.items():
            body += field(3, field(1, string(key)) + field(2, string(value)))
        out += field(2, body)
    for i, (name, file) in enumerate(functions, 1):
        out += field(4, field(1, i) + field(4, field(1, i) + field(2, 10 * i)))
        out += field(5, field(1, i) + field(2, string(name)) + field(4, string(file)))
    return out + b''.join(field(6, s.encode()) for s in strings)


def write(name, data):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)


if __name__ == '__main__':
    write('torch_snapshot/run/rank1.pickle', pickle.dumps(snapshot(), protocol=4))
    write('jax_memory/run/memory.prof', gzip.compress(jax_profile(), mtime=0))
