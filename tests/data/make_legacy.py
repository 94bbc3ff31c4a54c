#!/usr/bin/env python3
"""Writes the synthetic samples of tests/data/legacy: a Trace of Cloud TPU tools, kernel stats, traces in JSON.

    make_legacy.py [--tpu-trace FILE.trace.json.gz]     the latter: cut a recorded trace down to its first operations
"""
import argparse
import gzip
import json
import os

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'legacy')


def varint(v):
    out = b''
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def num(field, v):
    return varint(field << 3) + varint(v)


def data(field, v):
    v = v.encode() if isinstance(v, str) else v
    return varint(field << 3 | 2) + varint(len(v)) + v


def entry(key, value):
    return num(1, key) + data(2, value)


def write(path, content):
    path = os.path.join(HERE, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(content)


def trace_proto():
    def device(name, resources):
        return data(1, name) + b''.join(data(3, entry(i, data(1, r) + num(2, i))) for i, r in resources)

    def event(dev, res, name, begin_ps, dur_ps, args=()):
        body = num(1, dev) + num(2, res) + data(3, name) + num(9, begin_ps)
        body += num(10, dur_ps) if dur_ps else b''
        return data(4, body + b''.join(data(11, data(1, k) + data(2, v)) for k, v in args))

    us = 10 ** 6
    out = data(1, entry(1, device('/device:TPU:0', [(1, 'Steps'), (2, 'XLA Modules'), (3, 'XLA Ops')])))
    out += data(1, entry(701, device('/host:CPU', [(7, 'python')])))
    for step in range(3):
        at = step * 100 * us
        out += event(1, 1, str(step + 5), at, 90 * us)
        out += event(1, 2, 'jit_step(42)', at, 90 * us, [('run_id', str(step))])
        for i, (op, category, dur) in enumerate([('fusion.1', 'convolution fusion', 50), ('copy.2', 'copy', 10), ('infeed', 'infeed', 20)]):
            out += event(1, 3, op, at + i * 25 * us, dur * us - i * us, [
                ('long_name', f'%{op} = f32[128,128]{{1,0}} {op.split(".")[0]}(%p0)'), ('hlo_category', category),
                ('tf_op', f'model/{op}:Op'), ('model_flops', str(4096 * dur)), ('bytes_accessed', str(1000 * dur))])
        out += event(701, 7, 'TrainStep', at, 95 * us, [('step_num', str(step + 5))])
        out += event(701, 7, 'Mark', at + 5 * us, 0)
    return out


def kernel_stats():
    def kernel(name, regs, block, grid, total, least, most, n, op, tensor):
        body = data(1, name) + num(2, regs) + num(3, 1024) + num(4, 512)
        body += data(5, b''.join(map(varint, block))) + b''.join(num(6, g) for g in grid)
        body += num(7, total) + num(8, least) + num(9, most) + num(10, tensor) + num(11, 1) + data(12, op) + num(13, n)
        return data(1, body + bytes([14 << 3 | 5]) + b'\x00\x00\x48\x42')       # 50.0
    return (kernel('volta_s884cudnn_fp16_256x64', 120, (256, 1, 1), (64, 8, 1), 5000000, 1000000, 1500000, 4, 'model/conv/Conv2D', 1) +
            kernel('EigenMetaKernel', 16, (1024, 1, 1), (160, 1, 1), 900000, 20000, 40000, 30, 'model/add/AddV2', 0))


def pytorch():
    base = 1700000000000000
    events = [
        {'ph': 'M', 'name': 'process_name', 'ts': base, 'pid': 77, 'tid': 0, 'args': {'name': 'python'}},
        {'ph': 'M', 'name': 'process_labels', 'ts': base, 'pid': 77, 'tid': 0, 'args': {'labels': 'CPU'}},
        {'ph': 'M', 'name': 'process_labels', 'ts': base, 'pid': 0, 'tid': 0, 'args': {'labels': 'GPU 0'}},
        {'ph': 'M', 'name': 'thread_name', 'ts': base, 'pid': 77, 'tid': '78', 'args': {'name': 'thread 78 (python)'}},
        {'ph': 'M', 'name': 'thread_name', 'ts': base, 'pid': 0, 'tid': 7, 'args': {'name': 'stream 7 '}},
    ]
    for step in range(4):
        at = base + step * 1000 + 0.25
        events.append({'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{step + 10}', 'pid': 77, 'tid': 78, 'ts': at, 'dur': 990})
        for i, op in enumerate(['aten::conv2d', 'aten::relu', 'aten::mm']):
            t, c = at + 20 + 300 * i, step * 10 + i + 1
            events.append({'ph': 'X', 'cat': 'cpu_op', 'name': op, 'pid': 77, 'tid': 78, 'ts': t, 'dur': 100.5,
                           'args': {'External id': c, 'Input Dims': [[8, 3, 32, 32], []], 'Call stack': 'train.py(12): step;train.py(3): <module>'}})
            events.append({'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 77, 'tid': '78', 'ts': t + 30, 'dur': 10,
                           'args': {'cbid': 211, 'correlation': c}})
            events.append({'ph': 'X', 'cat': 'kernel', 'name': f'void {op[6:]}_kernel<float>(float*)', 'pid': 0, 'tid': 7, 'ts': t + 60, 'dur': 200,
                           'args': {'device': 0, 'stream': 7, 'correlation': c, 'registers per thread': 32, 'shared memory': 2048,
                                    'grid': [64, 2, 1], 'block': [256, 1, 1], 'est. achieved occupancy %': 75}})
            events.append({'ph': 's', 'id': c, 'pid': 77, 'tid': 78, 'ts': t + 30, 'cat': 'ac2g', 'name': 'ac2g'})
            events.append({'ph': 'f', 'id': c, 'pid': 0, 'tid': 7, 'ts': t + 60, 'cat': 'ac2g', 'name': 'ac2g', 'bp': 'e'})
        events.append({'ph': 'i', 's': 't', 'name': '[memory]', 'pid': 77, 'tid': 78, 'ts': at + 5, 'args': {'Bytes': 4096, 'Device Id': 0}})
        events.append({'ph': 'C', 'name': 'queue', 'pid': 77, 'ts': at, 'args': {'depth': step, 'waiting': 0.5 * step}})
        events.append({'ph': 's', 'id': 900 + step, 'pid': 77, 'tid': 78, 'ts': at + 40, 'cat': 'fwdbwd', 'name': 'fwdbwd'})
        events.append({'ph': 'f', 'id': 900 + step, 'pid': 77, 'tid': 79, 'ts': at + 500, 'cat': 'fwdbwd', 'name': 'fwdbwd', 'bp': 'e'})
        events.append({'ph': 'B', 'name': 'backward', 'pid': 77, 'tid': 79, 'ts': at + 450, 'args': {'Sequence number': step}})
        events.append({'ph': 'E', 'pid': 77, 'tid': 79, 'ts': at + 700})
        events.append({'ph': 'b', 'cat': 'io', 'id': '0x1', 'name': 'load', 'pid': 77, 'tid': 80, 'ts': at + 100})
        events.append({'ph': 'e', 'cat': 'io', 'id': '0x1', 'name': 'load', 'pid': 77, 'tid': 80, 'ts': at + 350})
    head = {'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'Some GPU'}], 'displayTimeUnit': 'ms'}
    return json.dumps({**head, 'traceEvents': events}, indent=1).encode()


def cut_tpu_trace(path):
    with gzip.open(path) as f:
        trace = json.load(f)
    ops, kept = {}, []
    for e in trace['traceEvents']:
        if e.get('ph') == 'X':
            line = (e['pid'], e['tid'])
            ops[line] = ops.get(line, 0) + 1
            if ops[line] > 30:
                continue
            e.get('args', {}).pop('source_stack', None)
        kept.append(e)
    trace['traceEvents'] = kept
    write('tpu_json/plugins/profile/run/t1v-n-9eb622fc-w-0.trace.json.gz', gzip.compress(json.dumps(trace, separators=(',', ':')).encode(), 9, mtime=0))


if __name__ == '__main__':
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--tpu-trace')
    args = ap.parse_args()
    write('trace_proto/plugins/profile/run/host.trace', trace_proto())
    write('trace_proto/plugins/profile/run/host.kernel_stats.pb', kernel_stats())
    write('pytorch/run/worker.pt.trace.json', pytorch())
    if args.tpu_trace:
        cut_tpu_trace(args.tpu_trace)
