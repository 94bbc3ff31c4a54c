"""Profiles out of nothing: random events with the names, stats and ties that preprocessing looks at.

They resemble no real program; they reach corners that samples do not: ties in circles, roots inside roots, kernels of unknown programs, steps cut in
two, lines out of order. Everything is drawn from a seed.
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import profiles
import xspace

HOST_NAMES = (
    'train', 'TraceContext', 'SessionRun', 'FunctionRun', 'RunGraph', 'ExecutorState::Process', 'ExecutorState::Process',
    'EagerExecute', 'EagerKernelExecute', 'a/b/MatMul:MatMul', 'dense/Relu:', 'while/body/add_1:AddV2', 'jit(f)/dot:dot_general',
    'IteratorGetNextOp::DoCompute', 'IteratorGetNextAsOptionalOp::DoCompute', 'InstantiatedCapturedFunction::Run',
    'ProcessBatch', 'BatchingSessionRun', 'OrbaxServing::ProcessBatch', 'cudaLaunchKernel', 'KernelLaunch', 'cuLaunch',
    '$file.py:1 call', 'ThreadpoolListener::Record', 'ThreadpoolListener::StartRegion', 'ThreadpoolListener::StopRegion',
    'TpuExecuteOp', 'EnqueueRequestLocked', 'RunProgramRequest', 'PjrtAsyncWait', 'DoEnqueueProgram', 'CompleteCallbacks',
    'Iterator::Batch::Map', 'MEMCPYHtoD', 'plain', 'plain2')
TF_OPS = ('a/b/MatMul:MatMul', 'a/b/Relu:Relu', 'a/c/add', 'a/c/add:', 'jit(f)/dense/dot_general:dot_general', 'jit(f)/x/mul[a=1]:mul[a=1]',
          'jit(f)/dense/relu', 'top:Top', 'odd name', ':', 'Iterator::Batch::Map', 'Iterator:Root::Map', 'x y/z w:', 'MEMCPYHtoD', 'a//b:B')
ROOTS = ('TraceContext', 'ProcessBatch', 'OrbaxServing::ProcessBatch', 'BatchingSessionRun')
UNSIGNED = ('correlation_id', 'run_id', 'program_id', 'symbol_id')
SOURCES = ('/src/a.py:1', '/src/a.py:2', 'b.py:7', '')


def bits(value):
    return struct.pack('<d', value)


class Plane:
    def __init__(self, name, ident):
        self.name, self.ident, self.metas, self.stats, self.lines, self.own = name, ident, {}, {}, [], []

    def stat_id(self, name):
        return self.stats.setdefault(name, len(self.stats) + 1)

    def stat(self, name, value):
        ident = [1, 0, self.stat_id(name)]
        if isinstance(value, tuple):    # by reference
            return [ident, [7, 0, self.stat_id(value[0])]]
        if isinstance(value, float):
            return [ident, [2, 1, bits(value)]]
        if isinstance(value, int):
            return [ident, [3 if name in UNSIGNED else 4, 0, value]]
        return [ident, [5 if isinstance(value, str) else 6, 2, value.encode() if isinstance(value, str) else value]]

    def meta(self, name, display='', **stats):
        key = name, display
        if key not in self.metas:
            self.metas[key] = len(self.metas) + 1, [self.stat(k, v) for k, v in stats.items()]
        return self.metas[key][0]

    def line(self, ident, name, timestamp_ns, events):
        """events: [(meta id, offset_ps, dur_ps, {stat: value})]"""
        fields = [[1, 0, ident], [2, 2, name.encode()], [3, 0, timestamp_ns]]
        for meta, offset, dur, stats in events:
            fields.append([4, 2, [[1, 0, meta], [2, 0, offset], [3, 0, dur]] +
                           [[4, 2, self.stat(k, v)] for k, v in stats.items()]])
        self.lines.append([3, 2, fields])

    def fields(self):
        out = [[1, 0, self.ident], [2, 2, self.name.encode()]] + self.lines
        for (name, display), (ident, stats) in self.metas.items():
            meta = [[1, 0, ident], [2, 2, name.encode()]] + [[5, 2, s] for s in stats]
            if display:
                meta.append([4, 2, display.encode()])
            out.append([4, 2, [[1, 0, ident], [2, 2, meta]]])
        for name, ident in self.stats.items():
            out.append([5, 2, [[1, 0, ident], [2, 2, [[1, 0, ident], [2, 2, name.encode()]]]]])
        return [1, 2, out + [[6, 2, s] for s in self.own]]


def nested(rnd, begin, end, depth, out):
    """Spans inside one another, in the order of time, outer ones first."""
    at = begin
    while len(out) < 120:
        at += rnd.choice((0, 0, rnd.randrange(1, 1 + (end - begin) // 3 + 1)))
        dur = rnd.choice((0, 1, rnd.randrange(1, 2 + (end - begin) // 2), end - at))
        if at + max(0, dur) > end:
            return
        out.append((at, dur))
        if dur > 10 and depth and rnd.random() < 0.7:
            nested(rnd, at, at + dur, depth - 1, out)
        at += dur
        if rnd.random() < 0.25:
            return


def spans(rnd, span):
    out = []
    while len(out) < 8:
        out.clear()
        nested(rnd, 1, span, rnd.randrange(1, 6), out)
    if rnd.random() < 0.9:
        out.sort(key=lambda s: (s[0], -s[1]))
    else:
        rnd.shuffle(out)
    return out


class World:
    """What the planes of one profile have in common."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.roots = set()      # where they begin
        self.span = self.rnd.choice((10_000, 1_000_000, 50_000_000))
        self.ids = self.rnd.choice((3, 10, 60))
        names = self.rnd.sample(HOST_NAMES, self.rnd.randrange(4, 20))
        self.names = names + self.rnd.choices(names, k=3)
        self.share = {k: self.rnd.choice((0, 0, 0.05, 0.3)) for k in (
            'tie', 'root', 'async', 'step', 'graph', 'correlation', 'device', 'func', 'loop', 'flow', 'pid')}

    def some(self, key):
        return self.rnd.random() < self.share[key]

    def small(self):
        return self.rnd.randrange(self.ids)


def host_stats(w, name, begin):
    rnd, out = w.rnd, {}
    if w.some('tie'):
        out.update(_pt=rnd.choice((0, 2, 12)), _p=w.small())
    if w.some('tie'):
        out.update(_ct=rnd.choice((0, 2, 12)), _c=w.small())
    # Roots that begin together come in the order of a hash table in XProf
    if (w.some('root') or (name == 'train' and rnd.random() < 0.7)) and begin not in w.roots:
        out['_r'] = rnd.choice((1, 1, 1, 2, 3))
        w.roots.add(begin)
    if w.some('async'):
        out['_a'] = rnd.choice((0, 1, 1))
    if w.some('step'):
        out[rnd.choice(('step_num', 'iter_num'))] = w.small()
    if w.some('graph'):
        out['graph_type'] = rnd.choice(('Graph', ('Train',)))
    if w.some('correlation'):
        out['correlation_id'] = w.small()
    if w.some('device'):
        out['device_id'] = rnd.randrange(3)
    if name.startswith('Eager') and rnd.random() < 0.7:
        out['is_func'] = rnd.randrange(2)
    if name.startswith(('ExecutorState', 'Tpu', 'IteratorGet', 'Instantiated')) and rnd.random() < 0.7:
        out['id'] = rnd.randrange(3)
        if name.startswith('Exec') and begin in w.roots:
            del out['id']       # first events of loop iterations are roots
        w.roots.add(begin)
        if w.some('loop') or name.startswith('Tpu'):
            out['iter_num'] = rnd.randrange(3)
        elif rnd.random() < 0.5:
            out['iter_num'] = 0
    if name in ('EnqueueRequestLocked', 'RunProgramRequest', 'PjrtAsyncWait'):
        out.update(request_id=rnd.randrange(4), queue_addr=rnd.randrange(2))
    if name in ('DoEnqueueProgram', 'CompleteCallbacks'):
        out.update(run_id=rnd.randrange(4) + rnd.choice((0, 1 << 27)), queue_id=rnd.randrange(2), device_ordinal=rnd.randrange(2))
        if rnd.random() < 0.3:
            out['core_type'] = rnd.randrange(2)
        if rnd.random() < 0.1:
            del out[rnd.choice(list(out))]
    if name == 'ThreadpoolListener::StartRegion':
        out.update(_ct=15, _c=w.small())
    if name == 'ThreadpoolListener::Record':
        out.update(_pt=15, _p=w.small())
    return out


def host_plane(w):
    plane = Plane('/host:CPU', 700)
    for i in range(w.rnd.randrange(1, 4)):
        events = []
        for begin, dur in spans(w.rnd, w.span):
            name = w.rnd.choice(w.names)
            if name.startswith('ThreadpoolListener::S'):
                dur = 0
            if name in ROOTS:           # the name alone makes a root
                name = name if begin not in w.roots else 'plain'
                w.roots.add(begin)
            events.append((plane.meta(name), begin, dur, host_stats(w, name, begin)))
        plane.line(i + 1, f'thread {i}', 0, events)
    return plane


def modules():
    """The metadata plane of a sample, as it stands, and a program with the names of its instructions."""
    path = profiles.files('synth_gpu1', '')[0]
    with open(path, 'rb') as f:
        space = xspace.parse(f.read())
    return next(p for p in xspace.get_all(space, 1) if xspace.text(p, 2) == '/host:metadata')


def kernel_stats(w, style):
    rnd, out = w.rnd, {}
    if rnd.random() < 0.85:
        out['kernel_details'] = ('regs:1',)
    if rnd.random() < 0.1:
        out['cuda_graph_exec_id'] = 1
    if rnd.random() < 0.8:
        out['correlation_id'] = w.small()
    if style != 'tf' and rnd.random() < 0.8:
        op = rnd.choice(('fusion.1', 'fusion.2', 'all-reduce.1', 'copy.1', 'unknown.1', 'a::fusion.1', 'a::b::fusion.2', 'while.1::fusion.1'))
        out['hlo_op'] = rnd.choice((op, (op,)))
        if rnd.random() < 0.95:
            out['hlo_module'] = (rnd.choice(('jit_train_step', 'jit_other')),)
        if rnd.random() < 0.9:
            out['program_id'] = rnd.choice((7, 7, 7, 8))
    if style != 'hlo' and rnd.random() < 0.7:
        out['tf_op'] = rnd.choice(TF_OPS)
    if style == 'scope':
        out['scope_range_id'] = rnd.choice((1, 2, 3, 9))
    return out


def gpu_plane(w, k):
    rnd, plane = w.rnd, Plane(f'/device:GPU:{k}', k + 1)
    style = rnd.choice(('hlo', 'tf', 'both', 'scope'))
    for i in range(rnd.randrange(1, 4)):
        events, at = [], 0
        for _ in range(rnd.randrange(1, 60)):
            at += rnd.choice((0, 0, rnd.randrange(w.span // 20)))
            dur = rnd.choice((0, 1500, 2000, 4000, rnd.randrange(w.span // 20)))
            name = rnd.choice(('kernel', 'gemm', 'MemcpyH2D', 'ncclAllReduce', 'x/y:Add'))
            events.append((plane.meta(name), at, dur, kernel_stats(w, style)))
            at += dur
        if rnd.random() < 0.2:
            rnd.shuffle(events)
        name = rnd.choice((f'Stream #{i + 3}(Compute)', f'Stream #{i + 3}(MemcpyH2D)', f'Stream #{i + 3}(Kernel,Compute)', f'odd {i}'))
        plane.line(i + 10, name, rnd.choice((5, 0)), events)
    return plane


def scope_plane():
    plane = Plane('/host:__ScopeRangeCallStack__', 800)
    plane.own = [[[1, 0, child], [4, 0, parent]] for child, parent in ((2, 1), (3, 2), (9, 8))]
    return plane


def tpu_ops(w, plane):
    rnd, out = w.rnd, []
    named = [('%fusion.1 = f32[] fusion()', 'fusion.1'), ('%while.1 = f32[] while()', 'while.1'), ('%add = f32[] add()', ''),
             ('%copy-start.1 = (f32[1]{0:S(5)}) copy-start()', 'copy-start.1'), ('%copy-done.1 = f32[1]{0:S(5)} copy-done()', 'copy-done.1'),
             ('%copy-start = (f32[1]{0:S(5)}) copy-start()', 'copy-start'), ('%copy-done = f32[1]{0:S(5)} copy-done()', 'copy-done')]
    metas = []
    for name, display in named:
        stats = {'hlo_category': 'x', 'program_id': 1, 'symbol_id': len(metas) + 1}
        if 'copy' not in name and rnd.random() < 0.7:
            stats['tf_op'] = rnd.choice(TF_OPS)
        if 'copy' not in name and rnd.random() < 0.5:
            stats['source'] = rnd.choice(SOURCES)
        if 'start' in name:
            stats.update(shape_with_layout='f32[1]{0:S(5)}')
        metas.append(plane.meta(name, display, **stats))
    for begin, dur in spans(rnd, w.span):
        stats = {'device_offset_ps': begin, 'device_duration_ps': dur}
        if rnd.random() < 0.2:
            stats['tf_op'] = rnd.choice(TF_OPS)
        if w.some('async'):
            stats['_a'] = rnd.randrange(2)
        if w.some('tie'):
            stats.update({rnd.choice(('_pt', '_ct')): 12, rnd.choice(('_p', '_c')): w.small()})
        out.append((rnd.choice(metas), begin, dur, stats))
    return out


def tpu_rows(w, plane, names, program):
    """Steps or programs, one after the other, sometimes touching."""
    rnd, out, at = w.rnd, [], 0
    while at < w.span:
        at += rnd.choice((0, rnd.randrange(1, w.span // 8)))
        dur = rnd.randrange(1, w.span // 4)
        stats = {'device_offset_ps': at + 7, 'device_duration_ps': dur}
        if program:
            stats.update(run_id=rnd.randrange(4), queue_id=rnd.randrange(2))
            if rnd.random() < 0.2:
                stats['core_type'] = rnd.randrange(2)
        elif w.some('tie'):
            stats.update(_ct=12, _c=w.small())
        if w.some('root'):
            stats['_r'] = 1
        out.append((plane.meta(rnd.choice(names)), at, dur, stats))
        at += dur
    return out


def tpu_plane(w, k, sparse):
    rnd = w.rnd
    plane = Plane(f'/device:TPU:{k} SparseCore 0' if sparse else f'/device:TPU:{k}', 10 * sparse + k + 1)
    pre = 'Sparse Core ' if sparse else ''
    xla = '' if sparse else 'XLA '
    if rnd.random() < 0.6:
        plane.line(1, pre + 'Steps', 0, tpu_rows(w, plane, ('1', '2', '3'), False))
    if rnd.random() < 0.8:
        plane.line(2, f'{pre}{xla}Modules', 0, tpu_rows(w, plane, ('jit_f(1)', 'jit_g(2)'), True))
    if rnd.random() < 0.9:
        plane.line(3, f'{pre}{xla}Ops', 0, tpu_ops(w, plane))
    if rnd.random() < 0.3:
        plane.line(4, 'Async XLA Ops', 0, tpu_ops(w, plane))
    return plane


def profile(seed):
    w = World(seed)
    kind = w.rnd.choice(('host', 'gpu', 'tpu'))
    planes = []
    if w.rnd.random() < 0.9:
        planes.append(host_plane(w).fields())
    if kind == 'gpu':
        planes += [gpu_plane(w, k).fields() for k in range(w.rnd.randrange(1, 3))]
        planes.append([1, 2, modules()])
        if w.rnd.random() < 0.5:
            planes.append(scope_plane().fields())
    if kind == 'tpu':
        for k in range(w.rnd.randrange(1, 3)):
            planes.append(tpu_plane(w, k, False).fields())
            if w.rnd.random() < 0.4:
                planes.append(tpu_plane(w, k, True).fields())
    if w.rnd.random() < 0.3:
        w.rnd.shuffle(planes)
    return xspace.serialize(planes + [[4, 2, b'host0']])


if __name__ == '__main__':
    sys.stdout.buffer.write(profile(sys.argv[1]))
