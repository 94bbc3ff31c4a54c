"""Profiles of a TPU or GPU program whose time is known: steps of operations in sequence, with noise, outliers and several hosts."""
import math
import os
import random

from xspace import field


class Plane:
    def __init__(self, plane_id, name):
        self.head = field(1, plane_id) + field(2, name)
        self.metas, self.stats_of, self.lines, self.stats = {}, {}, [], b''

    def stat(self, name, value):
        body = field(1, self.stats_of.setdefault(name, len(self.stats_of) + 1))
        if isinstance(value, bytes):
            return body + field(6, value)
        return body + (field(3 if name.endswith('_id') else 4, value) if isinstance(value, int) else field(5, value))

    def meta(self, name, label='', stats=(), number=None):
        if name not in self.metas:
            number = number or len(self.metas) + 1
            body = field(1, number) + field(2, name) + (field(4, label) if label else b'')
            self.metas[name] = number, body + b''.join(field(5, self.stat(k, v)) for k, v in dict(stats).items())
        return self.metas[name][0]

    def line(self, name):
        self.lines.append((name, bytearray()))
        return self.lines[-1][1]

    def event(self, line, meta, begin_ps, dur_ps, stats=()):
        body = field(1, meta) + field(2, begin_ps) + field(3, dur_ps)
        line += field(4, body + b''.join(field(4, self.stat(k, v)) for k, v in dict(stats).items()))

    def bytes(self):
        out = self.head
        for number, (name, events) in enumerate(self.lines, 1):
            out += field(3, field(1, number) + field(2, name) + field(3, 1000) + bytes(events))
        for number, body in self.metas.values():
            out += field(4, field(1, number) + field(2, body))
        for name, number in self.stats_of.items():
            out += field(5, field(1, number) + field(2, field(1, number) + field(2, name)))
        return out + self.stats


def op(name, category, us, path='', source='', shape='bf16[64,512]'):
    return dict(name=name, category=category, us=us, path=path, source=source, shape=shape)


def program():
    top = 'jit(train)/'
    return [op('infeed.1', 'infeed', 60),
            op('fusion.1', 'output fusion', 500, top + 'model/block0/attn/dot_general', 'model.py:10'),
            op('fusion.2', 'loop fusion', 120, top + 'model/block0/attn/exp', 'model.py:12'),
            op('fusion.3', 'output fusion', 700, top + 'model/block0/mlp/dot_general', 'model.py:20'),
            op('fusion.4', 'output fusion', 700, top + 'model/block1/mlp/dot_general', 'model.py:20'),
            op('all-reduce.1', 'all-reduce', 300, top + 'grads/psum', 'train.py:5', 'f32[512,512]'),
            op('fusion.5', 'loop fusion', 150, top + 'update/mul', 'train.py:9', 'f32[512,512]'),
            op('copy.1', 'data formatting', 40)]


def change(ops, name, factor=1.0, **more):
    return [dict(o, us=o['us'] * factor, **more) if o['name'] == name else dict(o) for o in ops]


def hlo(batch, module):
    def shape(*dims):
        return field(2, 16) + b''.join(field(3, d) for d in dims)
    params = b''
    for i, dims in enumerate(((batch, 512), (512, 512))):
        params += field(2, field(1, f'p.{i}') + field(2, 'parameter') + field(3, shape(*dims)) + field(9, i) + field(35, i + 1))
    main = field(1, 'main') + params + field(5, 1) + field(6, 2)
    return field(1, field(1, module) + field(2, 'main') + field(6, 1) + field(3, main) + field(5, 1))


def launch(step, i):
    return step * 100 + i + 1


def kernel_stats(step, i, o):
    more = {'tf_op': o['path'] + ':' + o['path'].split('/')[-1]} if o['path'] else {}
    return {'correlation_id': launch(step, i), 'kernel_details': 'regs:40 grid:64,2,1 block:256,1,1', 'hlo_module': 'jit_train',
            'hlo_op': o['name'], **more}


def write(path, ops=None, steps=24, noise=0.01, correlation=0.3, run_noise=0.003, seed=1, device='TPU v5p', cores=1, outliers=(),
          outlier_us=0, batch=64, peak=0, host_us=0, gap_us=50, gpu=False, function='load_batch', recorded_ns=None, program_id=7):
    """One run of one host. The mean step in microseconds."""
    ops, rng, us = ops or program(), random.Random(seed), 1_000_000
    run, walk, t, spans = 1 + run_noise * rng.gauss(0, 1), rng.gauss(0, 1), 50 * us, []
    devices = []
    for c in range(cores):
        p = Plane(2 + c, f'/device:{"GPU" if gpu else "TPU"}:{c}')
        p.stats = field(6, p.stat('device_type_string', device))
        lines = (None, None, p.line('Stream #13(Compute)')) if gpu else (p.line('Steps'), p.line('XLA Modules'), p.line('XLA Ops'))
        metas = []
        for o in ops:
            stats = {'hlo_category': o['category'], 'program_id': program_id, 'symbol_id': len(metas) + 1}
            if o['path']:
                stats['tf_op'] = o['path'] + ':' + o['path'].split('/')[-1]
            if o['source']:
                stats['source'] = o['source']
            code = 'fusion' if 'fusion' in o['category'] else o['category'].replace('data formatting', 'copy')
            metas.append(p.meta('loop_' + o['name']) if gpu else p.meta('%%%s = %s{1,0} %s(bf16[64,512] %%x)' % (o['name'], o['shape'], code), o['name'], stats))
        devices.append((p, lines, metas, None if gpu else p.meta(f'jit_train({program_id})')))
    for s in range(steps):
        factor = max(0.3, run * (1 + noise * walk))
        walk = correlation * walk + math.sqrt(1 - correlation ** 2) * rng.gauss(0, 1)
        idle = int((40 * factor + host_us + (outlier_us if s in outliers else 0)) * us)
        durs = [[int(o['us'] * factor * (1 + 0.4 * noise * rng.gauss(0, 1)) * us) for o in ops] for _ in devices or [None]]
        length = max(map(sum, durs)) + idle
        for (p, lines, metas, module), ds in zip(devices, durs):
            if not gpu:
                p.event(lines[0], p.meta(str(s)), t, length)
                p.event(lines[1], module, t, length, {'run_id': 100 + s})
            at = t + idle
            for i, (meta, d) in enumerate(zip(metas, ds)):
                p.event(lines[2], meta, at, d, kernel_stats(s, i, ops[i]) if gpu else {})
                at += d
        spans.append((t, length))
        t += length + gap_us * us
    host = Plane(1, '/host:CPU')
    line = host.line('python')
    for s, (begin, length) in enumerate(spans):
        host.event(line, host.meta('train'), begin - 5 * us, length + 10 * us, {'step_num': s})
        if host_us:
            host.event(line, host.meta(function), begin, int(host_us * us))
        for i in range(len(ops) if gpu else 0):
            host.event(line, host.meta('cuLaunchKernel'), begin + int((host_us + 2 * i) * us), us, {'correlation_id': launch(s, i)})
        if peak:
            host.event(line, host.meta('MemoryAllocation'), begin + 1000, 100, {
                'allocator_name': 'TPU_0_bfc', 'bytes_reserved': 1 << 20, 'bytes_allocated': peak, 'bytes_available': 1 << 33,
                'peak_bytes_in_use': peak, 'requested_bytes': 4096, 'allocation_bytes': 4096, 'addr': s + 1, 'tf_op': 'a'})
    environment = []
    if recorded_ns:
        environment = [Plane(10, 'Task Environment')]
        environment[0].stats = b''.join(field(6, environment[0].stat(k, v)) for k, v in zip(('profile_start_time', 'profile_stop_time'), recorded_ns))
    programs = Plane(9, '/host:metadata')
    programs.meta(f'jit_train({program_id})', stats={'Hlo Proto': hlo(batch, 'jit_train')}, number=program_id)
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    with open(path, 'wb') as f:
        f.write(b''.join(field(1, p.bytes()) for p in [d[0] for d in devices] + [host, programs] + environment) + field(4, 'host0'))
    return sum(length for _, length in spans) / steps / us


def side(directory, runs=3, seed=1, **args):
    """Runs of one program: their paths, and the mean step."""
    paths = [os.path.join(directory, f'run{i}.xplane.pb') for i in range(runs)]
    return paths, sum(write(p, seed=seed + 1000 * i, **args) for i, p in enumerate(paths)) / runs
