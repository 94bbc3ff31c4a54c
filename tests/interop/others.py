#!/usr/bin/env python3
"""What stepscope shows of files of other profilers, beside what readers of their own count in them.

    others.py [--bin build/stepscope] [FILE...]

Without files: the samples of tests/data/others and of the fuzzers, and random exports of Nsight Systems, traces of rocprofv3 and of
Perfetto. The readers below share nothing with stepscope: SQLite's own library, json, and a walk over the fields of a protobuf.
Kernels are compared by name (calls, nanoseconds), copies by calls, bytes and nanoseconds, host events and slices by number.
"""
import argparse
import collections
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'data'))
import make_others as form  # noqa: E402


# --- independent readers ---------------------------------------------------------------------

def facts():
    return {'kernels': collections.defaultdict(lambda: [0, 0]), 'copies': [0, 0, 0], 'host': 0}


def read_nsys(path):
    db, found = sqlite3.connect(path), facts()
    tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def rows(table, what, where='1'):
        return db.execute(f'SELECT {what} FROM {table} WHERE {where}') if table in tables else ()
    names = dict(rows('StringIds', 'id, value'))
    for name, ns in rows('CUPTI_ACTIVITY_KIND_KERNEL', 'demangledName, end - start'):
        k = found['kernels'][names[name]]
        k[0], k[1] = k[0] + 1, k[1] + ns
    for size, ns in rows('CUPTI_ACTIVITY_KIND_MEMCPY', 'bytes, end - start'):
        found['copies'] = [a + b for a, b in zip(found['copies'], (1, size, ns))]
    for table in ('CUPTI_ACTIVITY_KIND_RUNTIME', 'OSRT_API'):
        found['host'] += sum(1 for _ in rows(table, '1'))
    found['host'] += sum(1 for _ in rows('NVTX_EVENTS', '1', 'eventType IN (34, 59, 60, 70, 71)'))
    return found


def read_rocprof(path):
    with open(path) as f:
        runs, found = json.load(f)['rocprofiler-sdk-tool'], {**facts(), 'registers': {}}
    for run in runs:
        records = run['buffer_records']
        symbols = {s['kernel_id']: s for s in run['kernel_symbols']}
        for r in records.get('kernel_dispatch', []):
            number = r['dispatch_info']['kernel_id']
            symbol = symbols.get(number, {})
            name = symbol.get('formatted_kernel_name') or symbol.get('truncated_kernel_name') or f'kernel {number}'
            found['registers'][name] = symbol.get('arch_vgpr_count', 0)
            k = found['kernels'][name]
            k[0], k[1] = k[0] + 1, k[1] + r['end_timestamp'] - r['start_timestamp']
        for r in records.get('memory_copy', []):
            one = (1, r['bytes'], r['end_timestamp'] - r['start_timestamp'])
            found['copies'] = [a + b for a, b in zip(found['copies'], one)]
        found['host'] += sum(len(v) for k, v in records.items() if k.endswith('_api'))
    return found


def fields(data):
    at = 0

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            v |= (data[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return v
    while at < len(data):
        tag = varint()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, varint()
        else:
            n = varint() if wire == 2 else 8 if wire == 1 else 4
            at += n
            yield tag >> 3, data[at - n:at]


def read_perfetto(path):
    """Slices, instants and values of counters of all tracks: slices are begun, ended in the order of time, of one track the innermost first."""
    with open(path, 'rb') as f:
        events = []
        for _, packet in fields(f.read()):
            p = dict(fields(packet))
            if 11 in p:
                e = dict(fields(p[11]))
                events.append((p.get(8, 0), e.get(9, 0), e.get(11, 0)))
    slices, instants, open_, total = 0, 0, collections.Counter(), 0
    for _, kind, track in sorted(events, key=lambda e: e[0]):
        instants += kind in (3, 4)  # a counter's values are shown as events, too
        if kind == 1:
            open_[track] += 1
            total += 1
        elif kind == 2 and open_[track]:
            open_[track] -= 1
            slices += 1
    return {'slices': slices + sum(open_.values()) + instants}


# --- random files ----------------------------------------------------------------------------

def random_nsys(path, seed):
    rng = random.Random(seed)
    form.nsys(path)
    db = sqlite3.connect(path)
    for i in range(rng.randrange(1, 300)):
        at, c = rng.randrange(5_000_000, 90_000_000), 1000 + i
        db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, 0, 0)', (at, at + rng.randrange(1, 9000), form.THREAD, c, 3))
        db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, ?, ?, ?, ?, 64, 1, 1, 128, 1, 1, 40, 0, 512)',
                   (at + 9000, at + 9000 + rng.randrange(1, 100_000), rng.choice((7, 8)), c, form.PROCESS, rng.choice((1, 2))))
    for i in range(rng.randrange(40)):
        at = rng.randrange(5_000_000, 90_000_000)
        db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, 1, 2)',
                   (at, at + rng.randrange(1, 90_000), 9000 + i, form.PROCESS, rng.randrange(1 << 30), rng.choice((1, 2, 8))))
    db.commit()
    db.close()


def random_rocprof(path, seed):
    rng = random.Random(seed)

    def span():
        at = rng.randrange(10_000, 90_000_000)
        return {'start_timestamp': at, 'end_timestamp': at + rng.randrange(1, 100_000)}
    gpus = (8, 9)[:rng.randrange(1, 3)]
    calls = [{'kind': 0, 'operation': 1, 'thread_id': rng.choice((5, 6)), 'correlation_id': {'internal': i + 1}, **span()} for i in range(rng.randrange(1, 200))]
    kernels = [{'kind': 1, 'operation': 0, 'thread_id': 5, 'correlation_id': {'internal': i + 1}, **span(),
                'dispatch_info': {'agent_id': {'handle': rng.choice(gpus)}, 'queue_id': {'handle': rng.choice((2, 3))}, 'kernel_id': rng.randrange(6),
                                  'workgroup_size': {'x': 64, 'y': 1, 'z': 1}, 'grid_size': {'x': 640, 'y': 2, 'z': 1}}} for i in range(len(calls))]
    copies = [{'kind': 3, 'operation': rng.choice((1, 2)), 'src_agent_id': {'handle': 1}, 'dst_agent_id': {'handle': rng.choice(gpus)},
               'bytes': rng.randrange(1 << 30), **span()} for _ in range(rng.randrange(40))]
    run = {'metadata': {'pid': 77, 'node': {'hostname': 'amd1'}}, 'agents': [{'id': {'handle': 1}, 'type': 1}] + [{'id': {'handle': g}, 'type': 2} for g in gpus],
           'strings': {'buffer_records': [{'kind': 'HIP', 'operations': ['a', 'hipLaunchKernel']}, {'kind': 'K', 'operations': ['k']}, {'kind': 'M', 'operations': ['m']},
                                          {'kind': 'MEMORY_COPY', 'operations': ['NONE', 'MEMORY_COPY_HOST_TO_DEVICE', 'MEMORY_COPY_DEVICE_TO_HOST']}]},
           'kernel_symbols': [{'kernel_id': i, 'formatted_kernel_name': f'kernel{i}(float*)'} for i in range(4)] +
                             [{'kernel_id': 4, 'truncated_kernel_name': 'cut', 'arch_vgpr_count': 24}],
           'buffer_records': {'kernel_dispatch': kernels, 'hip_api': calls, 'memory_copy': copies}}
    with open(path, 'w') as f:
        json.dump({'rocprofiler-sdk-tool': [run]}, f)


def random_perfetto(path, seed):
    rng = random.Random(seed)

    def packet(body):
        return form.field(1, form.field(10, 1) + body)
    tracks = range(20, 20 + rng.randrange(1, 6))
    out = b''.join(packet(form.field(60, form.field(1, t) + form.field(4, form.field(1, 12) + form.field(2, t) + form.field(5, f'thread {t}')))) for t in tracks)
    for t in tracks:
        at, depth = 1000, 0
        for i in range(rng.randrange(1, 200)):
            at += rng.randrange(1, 1000)
            kind = rng.choice((1, 2, 3)) if depth else rng.choice((1, 3))
            depth += (kind == 1) - (kind == 2)
            out += packet(form.field(8, at) + form.field(11, form.field(9, kind) + form.field(11, t) + (form.field(23, f's{i % 7}') if kind != 2 else b'')))
        for _ in range(depth):
            at += 1
            out += packet(form.field(8, at) + form.field(11, form.field(9, 2) + form.field(11, t)))
    with open(path, 'wb') as f:
        f.write(out)


# --- what stepscope shows --------------------------------------------------------------------

def table(binary, tool, path):
    done = subprocess.run([binary, 'tool', tool, path, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise ValueError(f'{tool}: {done.stderr.decode().strip()}')
    t = json.loads(done.stdout)['tables'][0]
    return [dict(zip((c['id'] for c in t['cols']), row)) for row in zip(*t['data'])]


def shown(binary, path, slices):
    planes = table(binary, 'plane_stats', path)
    if slices:
        return {'slices': sum(p['events'] for p in planes)}
    found = {**facts(), 'registers': {}}
    for r in table(binary, 'kernel_stats', path):
        found['registers'][r['kernel_name']] = r['registers_per_thread']
        k = found['kernels'][r['kernel_name']]
        k[0], k[1] = k[0] + r['occurrences'], k[1] + round(r['total_duration_us'] * 1000)
    for r in table(binary, 'memory_copies', path):
        found['copies'] = [a + b for a, b in zip(found['copies'], (r['calls'], r['bytes'], round(r['total_us'] * 1000)))]
    found['host'] = sum(p['events'] for p in planes if p['plane'].startswith('/host:CPU'))
    return found


def differences(binary, path):
    reader = read_nsys if path.endswith('.sqlite') else read_rocprof if path.endswith('.json') else read_perfetto
    expected = reader(path)
    try:
        found = shown(binary, path, reader is read_perfetto)
    except ValueError as e:
        return [str(e)]
    return [f'{key}: {dict(found[key]) if key == "kernels" else found[key]} for {dict(v) if key == "kernels" else v}'
            for key, v in expected.items() if found[key] != v]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    parser.add_argument('files', nargs='*')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        files = args.files
        if not files:
            files = [os.path.join(ROOT, 'tests', p) for p in ('data/others/nsys/run/node7.sqlite', 'fuzz/seeds/formats/rocprof.json')]
            files += [os.path.join(ROOT, 'tests', 'data', 'others', 'perfetto', 'run', 'app.pftrace')]
            for seed in range(8):
                for make, end in ((random_nsys, 'sqlite'), (random_rocprof, 'json'), (random_perfetto, 'pftrace')):
                    files.append(os.path.join(scratch, f'{seed}.{end}'))
                    make(files[-1], seed)
        for path in files:
            wrong = differences(os.path.abspath(args.bin), path)
            passed += not wrong
            failed += bool(wrong)
            for line in wrong:
                print(f'{os.path.basename(path)}: {line}'[:600])
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    raise SystemExit(main())
