"""Profiles of made-up jobs on TPUs: programs with loops and fusions, run step after step by all cores of several hosts.

invent.py makes noise; these resemble what libtpu and JAX write: chips from v2 to v7x, SparseCores, infeed, collectives, hosts that launch
programs and prepare input, serving, evaluation between steps, and what goes wrong with profiles: lines, stats, programs and names that
are missing, clocks that differ, captures that begin within a step. Everything is drawn from a seed.

    jobs.py SEED FOLDER     write the files of one job
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import hlo
import invent
import xspace

US = 1_000_000
# Device type, cores and SparseCores of a chip, has_megacore, TFLOP/s, GB/s of HBM, memory on the chip
CHIPS = (
    ('TPU v2', 2, 0, 0, 22.5, 300.0, ''), ('TPU v3', 2, 0, 0, 61.5, 450.0, ''), ('TPU v4', 1, 0, 1, 275.0, 1228.8, 'cmem'),
    ('TPU v4', 2, 2, 0, 137.5, 614.4, 'cmem'), ('TPU v5 Lite', 1, 0, 0, 197.0, 819.0, 'vmem'), ('TPU v5', 1, 2, 1, 459.0, 2765.0, 'vmem'),
    ('TPU v6 Lite', 1, 2, 0, 918.0, 1640.0, 'vmem'), ('TPU v7x', 2, 2, 0, 1153.5, 3433.0, 'vmem'),
)
# Category, stem of the name, how often; F: computes, M: moves memory, C: is a collective
LEAVES = (
    ('loop fusion', 'fusion', 8, 'FM'), ('output fusion', 'fusion', 4, 'FM'), ('convolution fusion', 'convolution_fusion', 4, 'FM'),
    ('custom fusion', 'custom_fusion', 1, 'FM'), ('input fusion', 'input_fusion', 1, 'FM'), ('convolution', 'convolution', 2, 'FM'),
    ('data formatting', 'copy', 3, 'M'), ('copy', 'copy', 1, 'M'), ('non-fusion elementwise', 'add', 1, 'FM'),
    ('broadcast', 'broadcast', 1, 'M'), ('custom-call', 'custom-call', 2, 'FM'), ('custom-call', 'tpu_custom_call', 1, ''),
    ('all-reduce', 'all-reduce', 2, 'MC'), ('all-reduce fusion', 'all-reduce_fusion', 1, 'FMC'), ('all-gather', 'all-gather', 1, 'MC'),
    ('all-gather fusion', 'all-gather_fusion', 1, 'FMC'), ('reduce-scatter', 'reduce-scatter', 1, 'MC'), ('all-to-all', 'all-to-all', 1, 'MC'),
    ('all-reduce-scatter fusion', 'all-reduce-scatter', 1, 'FMC'), ('collective-permute', 'collective-permute', 1, 'MC'),
    ('sort', 'sort', 1, 'M'), ('gather', 'gather', 1, 'M'), ('scatter', 'scatter', 1, 'FM'), ('dynamic-update-slice', 'dynamic-update-slice', 1, 'M'),
    ('rng-bit-generator', 'rng-bit-generator', 1, 'F'), ('barrier-cores', 'barrier-cores', 1, ''), ('Overlay', 'overlay', 1, ''),
    ('dependency-wait', 'dependency-wait', 1, ''), ('megacore fusion', 'megacore_fusion', 1, 'FM'), ('reduce', 'region_0.12', 1, 'F'),
    ('sparsecorev0 infeed', 'sc_infeed', 1, ''), ('sparsecorev0 outfeed', 'sc_outfeed', 1, ''), ('', 'unknown', 1, ''),
)
PAIRS = (
    ('all-gather-start', 'all-gather-done'), ('collective-permute-start', 'collective-permute-done'), ('copy-start', 'copy-done'),
    ('async-start', 'async-done'), ('send', 'send-done'), ('recv', 'recv-done'), ('host send', 'host send-done'),
    ('host recv', 'host recv-done'), ('all-reduce-start', 'all-reduce-done'), ('async-copy-start', 'async-copy-done'),
)
SCOPES = (
    'jit({p})/jvp(Net)/dense_{n}/dot_general:dot_general', 'jit({p})/transpose(jvp(Net))/dense_{n}/dot_general:dot_general',
    'jit({p})/jvp(Net)/layer_{n}/mul', 'jit({p})/while/body/layer_{n}/add:', 'jit({p})/rematted_computation/dense_{n}/tanh:tanh',
    'model/dense_{n}/MatMul:MatMul', 'gradient_tape/model/dense_{n}/MatMul_1:MatMul', 'jit({p})/pallas_call[name=k{n}]', 'Net/x:XlaSendToHost',
    'jit({p})/psum:psum', '', '', 'a//b/{n}:', '/odd/{n}/', 'jit({p})/jit(main)/cond/branch_{n}_fun/reduce_sum[axes=(0,)]:reduce_sum',
)
SOURCES = ('/src/model.py:{n}', '/src/train.py:12', 'layers.py: {n}', 'broken', '<string>:3', '')
SHAPES = (
    hlo.Shape('f32', (128, 256)), hlo.Shape('bf16', (8, 128, 128)), hlo.Shape('f32'), hlo.Shape('s8', (1024,)),
    hlo.Shape('bf16', (256, 64), order=(0, 1)), hlo.Shape('tuple', parts=(hlo.Shape('f32', (16, 16)), hlo.Shape('u32'))),
)


class U(int):
    """A number that is stored unsigned."""


class Plane(invent.Plane):
    """Metadata is told apart by a key besides its name, and may have a number of its own."""

    def stat(self, name, value):
        if isinstance(value, U):
            return [[1, 0, self.stat_id(name)], [3, 0, int(value)]]
        return super().stat(name, value)

    def meta(self, name, display='', key='', ident=None, **stats):
        at = name, display, key
        if at not in self.metas:
            self.metas[at] = ident or len(self.metas) + 1, [self.stat(k, v) for k, v in stats.items()]
        return self.metas[at][0]

    def fields(self):
        metas, self.metas = self.metas, {}
        out = super().fields()
        self.metas = metas
        own = out[2]
        for (name, display, _), (ident, stats) in metas.items():
            meta = [[1, 0, ident], [2, 2, name.encode()]] + [[5, 2, s] for s in stats]
            if display:
                meta.append([4, 2, display.encode()])
            own.append([4, 2, [[1, 0, ident], [2, 2, meta]]])
        return out


class Op:
    """One operation of a program, and what runs inside of it."""

    def __init__(self, name, category, text, dur):
        self.name, self.category, self.text, self.dur = name, category, text, dur
        self.stats, self.inner, self.trips, self.collective, self.offload = {}, [], 1, 0, None


def breakdown(rnd, total):
    out, left = [], total
    for _ in range(rnd.randrange(1, 5)):
        part = rnd.randrange(left + 1)
        out.append([1, 2, [[1, 0, rnd.choice((1, 1, 2, 2, 0))], [2, 0, rnd.choice((1, 1, 1, 2, 3, 3, 4))], [3, 0, part]]])
        left -= part
    return xspace.serialize(out)


class Program:
    """A program: its operations in their order, and its module."""

    def __init__(self, rnd, name, ident, options):
        self.rnd, self.name, self.ident, self.options = rnd, name, ident, options
        self.module, self.counts, self.symbols, self.ops_made = hlo.Module(name), {}, 0, []
        self.body = self.sequence(rnd.randrange(2, 9), rnd.randrange(0, 3))
        self.entry()

    def named(self, stem):
        n = self.counts[stem] = self.counts.get(stem, 0) + 1
        return stem if n == 1 and self.rnd.random() < 0.3 else f'{stem}.{n}'

    def op(self, category, stem, traits, dur):
        rnd, name, n = self.rnd, self.named(stem), len(self.ops_made)
        shape = rnd.choice(SHAPES)
        opcode = 'fusion' if 'fusion' in category else category.replace('host ', '').replace(' ', '-') or 'copy'
        op = Op(name, category, f'%{name} = {shape.text()} {opcode}({SHAPES[0].text()} %p.1)', dur)
        self.symbols += 1
        op.stats = {'program_id': U(self.ident), 'symbol_id': U(self.symbols)}
        if category:
            op.stats['hlo_category'] = category
        scope = rnd.choice(SCOPES).format(p=self.name, n=n // 3)
        if scope:
            op.stats['tf_op'] = scope
        self.cost(op, traits)
        if rnd.random() < 0.6:
            op.stats['source'] = rnd.choice(SOURCES).format(n=10 * n)
            op.stats['source_stack'] = '\n'.join(f'/src/f{k}.py:{k}:1' for k in range(rnd.randrange(4)))
        if rnd.random() < 0.2 and self.ops_made:
            op.stats['deduplicated_name'] = rnd.choice(self.ops_made).name
        if rnd.random() < 0.3:
            op.stats['shape_with_layout'] = shape.text()
        if 'C' in traits and rnd.random() < 0.8:
            op.collective = rnd.randrange(1, 1000)
        if rnd.random() < self.options['no_symbol']:
            del op.stats[rnd.choice(('symbol_id', 'program_id'))]
        op.shape = shape
        self.ops_made.append(op)
        return op

    def cost(self, op, traits):
        rnd = self.rnd
        kind = rnd.choice((U, int))
        if 'F' in traits and rnd.random() < 0.9:
            # XProf reads those of custom calls as 32 bits: parity.md
            op.stats['flops'] = kind(rnd.randrange(1 << rnd.randrange(1, 30 if op.category == 'custom-call' else 40)))
            if rnd.random() < 0.6:
                op.stats['model_flops'] = kind(int(op.stats['flops'] * rnd.uniform(0.3, 1)))
        if 'M' in traits and rnd.random() < 0.9:
            total = rnd.randrange(1 << rnd.randrange(1, 30))
            op.stats['bytes_accessed'] = kind(total)
            if rnd.random() < 0.3:
                op.stats['raw_bytes_accessed'] = kind(total // 2)
            if rnd.random() < 0.8:
                op.stats['memory_access_breakdown'] = breakdown(rnd, total)

    def sequence(self, n, depth):
        rnd, out = self.rnd, []
        for _ in range(n):
            dur = rnd.choice((rnd.randrange(1, 2000), rnd.randrange(1, 20 * US), rnd.randrange(1, 3 * US)))
            if depth and rnd.random() < 0.3:
                out.append(self.container(depth - 1))
            elif rnd.random() < 0.2:
                out += self.pair(dur)
            else:
                category, stem, _, traits = rnd.choices(LEAVES, weights=[x[2] for x in LEAVES])[0]
                out.append(self.op(category, stem, traits, dur))
        for category in ('infeed', 'outfeed'):
            if rnd.random() < self.options[category]:
                out.insert(rnd.randrange(len(out) + 1), self.op(category, category, '', rnd.randrange(1, 4 * US)))
        return out

    def pair(self, dur):
        begin, end = self.rnd.choice(PAIRS)
        made = [self.op(begin, begin.replace('host ', ''), 'M', self.rnd.randrange(1, 2000))]
        if self.rnd.random() < 0.5:
            made.append(self.op('loop fusion', 'fusion', 'FM', dur))
        made.append(self.op(end, end.replace('host ', ''), '', self.rnd.randrange(1, dur + 1)))
        if begin == 'async-start' and self.options['offload']:
            made[0].offload = self.rnd.randrange(1, 4)
        return made

    def container(self, depth):
        kind = self.rnd.choice(('while', 'while', 'conditional', 'call'))
        op = self.op(kind, kind, 'FM' if self.rnd.random() < 0.3 else '', 0)
        op.inner = self.sequence(self.rnd.randrange(1, 4), depth)
        op.trips = self.rnd.randrange(1, 5) if kind == 'while' else 1
        return op

    def entry(self):
        """The module: fusions with what they are made of, everything else as copies of its name."""
        rnd, fused = self.rnd, {}
        for op in self.ops_made:
            if 'fusion' in op.category and rnd.random() < 0.8:
                fused[op] = self.fused(op)
        main = self.module.computation('main')
        p = main.parameter('p.1', SHAPES[0])
        for op in self.ops_made:
            scope = op.stats.get('tf_op', '')
            name, _, kind = scope.partition(':')
            if op in fused:
                main.add(op.name, 'fusion', SHAPES[0], (p,), (fused[op],), name, kind, '/src/model.py', 7,
                         extra=[[11, 2, rnd.choice((b'kLoop', b'kOutput', b'kInput'))]])
            else:
                main.add(op.name, 'copy', SHAPES[0], (p,), (), name, kind)

    def fused(self, op):
        body = self.module.computation(f'fused_computation.{len(self.module.computations)}')
        at = body.parameter(f'param_0.{body.ident}', SHAPES[0])
        for k in range(self.rnd.randrange(1, 4)):
            opcode = self.rnd.choice(('tanh', 'negate', 'exponential'))
            at = body.add(f'{opcode}.{body.ident}{k}', opcode, SHAPES[0], (at,), (), f'jit({self.name})/{opcode}', opcode)
        return body


class Job:
    """What all hosts of a job have in common."""

    def __init__(self, seed):
        self.rnd = rnd = random.Random(seed)
        self.chip = rnd.choice(CHIPS)
        self.nhosts, self.nchips = rnd.choice((1, 1, 1, 2, 2, 3)), rnd.choice((1, 1, 2, 4))
        self.few = {k: rnd.choice((0, 0, 0, 0.1, 0.5)) for k in ('dma', 'dvfs', 'energy', 'estimated', 'run_id', 'no_device_time', 'zero')}
        self.has = {k: rnd.random() < p for k, p in {
            'steps': 0.75, 'modules': 0.85, 'async': 0.5, 'core_details': 0.75, 'type': 0.93, 'peaks': 0.85, 'device_time': 0.85, 'host': 0.9,
            'marks': 0.5, 'launches': 0.5, 'sparse': 0.6, 'hlo': 0.8, 'input': 0.5, 'serving': 0.2, 'counters': 0.25, 'use': 0.3, 'ids': 0.8,
            'unknown_lines': 0.2, 'traceme': 0.2, 'errors': 0.1, 'offload': 0.3, 'idle': 0.3}.items()}
        share = {'infeed': rnd.choice((0, 0, 0.2)), 'outfeed': rnd.choice((0, 0, 0.2)), 'no_symbol': rnd.choice((0, 0, 0, 0.1)),
                 'offload': self.has['offload']}
        names = rnd.sample(('jit_train_step', 'jit_eval_step', 'jit__multi_slice', 'pmap_update', 'cluster_2', 'jit_loss_fn'), rnd.randrange(1, 4))
        self.programs = [Program(rnd, n, rnd.choice((rnd.randrange(1, 99), rnd.randrange(1 << 62), rnd.randrange(1 << 63, 1 << 64))), share)
                         for n in names]
        self.kept = [p for p in self.programs if rnd.random() < 0.85]   # the others' protos are lost
        self.first_step, self.nsteps = rnd.choice((0, 1, 10, 123456)), rnd.randrange(1, 9)
        self.eval_every = rnd.choice((0, 0, 2, 3))
        self.parts = rnd.choice((1, 1, 2))      # runs of a program in a step
        self.line_ns = rnd.choice((0, 5_000, 5_000, 123_456_789))
        self.drift_ps = rnd.choice((0, 0, 0, 700, 3 * US))     # of the device's clock behind the host's
        if self.few['no_device_time']:
            self.line_ns = self.drift_ps = 0    # one clock: those that say no time of the device are placed by the host's
        self.jitter, self.gap = rnd.choice((0, 0.01, 0.2)), rnd.choice((0, 1000, 5 * US, 5 * US, 80 * US))
        self.skew = rnd.choice((0, 0, 2 * US))
        self.overlap = rnd.choice((0, 0, 0, 0, US))      # of a step's marker with the next
        # A host without any name for its models confuses XProf: parity.md
        self.root, self.all_named = rnd.choice(('SessionRun', 'TfrtModelRun', 'ServingModelRun', 'RunGraph')), self.nhosts > 1
        self.cut_first = rnd.random() < 0.15            # the capture begins within a step

    def plan(self):
        """[programs of a step], the same for all cores."""
        out = []
        for k in range(self.nsteps):
            runs = [self.programs[0]] * self.parts
            if self.eval_every and k % self.eval_every == self.eval_every - 1:
                runs.append(self.programs[-1])
            if len(self.programs) > 2:
                runs.insert(0, self.programs[1])
            out.append(runs)
        return out


class Core:
    """One TensorCore's plane in the making."""

    def __init__(self, job, host, chip, number):
        self.job, self.rnd, self.host, self.chip, self.number = job, random.Random(f'{job.rnd.random()}'), host, chip, number
        cores = job.chip[1]
        self.ordinal = chip * cores + number
        self.plane = Plane(f'/device:TPU:{self.ordinal}', 2 + self.ordinal)
        self.steps, self.modules, self.ops, self.asyncs, self.traceme = [], [], [], [], []
        self.offloads, self.runs = [], []

    def own_stats(self):
        job, plane, kind = self.job, self.plane, self.job.chip
        stats = {}
        if job.has['type']:
            stats['device_type_string'] = kind[0]
        if job.has['ids']:
            stats.update(device_id=self.ordinal, global_chip_id=self.host * job.nchips + self.chip, replica_id=self.ordinal)
        if job.has['peaks']:
            stats.update(peak_teraflops_per_second=kind[4], peak_hbm_bw_gigabytes_per_second=kind[5], has_megacore=kind[3])
            stats.update({f'peak_{kind[6]}_{way}_bw_gigabytes_per_second': 20000.0 for way in ('rd', 'wr') if kind[6]})
            stats.update(peak_sram_rd_bw_gigabytes_per_second=9000.0, peak_sram_wr_bw_gigabytes_per_second=4500.0,
                         has_merged_vmem=int(kind[6] == 'vmem'))
        if job.has['core_details']:
            chip = self.host * job.nchips + self.chip
            stats['core_details'] = xspace.serialize([[2, 0, self.ordinal], [3, 0, self.number], [4, 0, self.chip], [5, 0, chip],
                                                      [6, 0, chip * kind[1] + self.number]])
        plane.own += [plane.stat(k, v) for k, v in stats.items()]

    def place(self, begin, dur):
        """(offset on the line, stats) of what ran on the device at a time; its clock may be another than the host's."""
        job = self.job
        stats = {}
        if job.has['device_time'] and self.rnd.random() >= job.few['no_device_time'] * 0.1:
            stats = {'device_offset_ps': U(begin), 'device_duration_ps': U(dur)}
        return begin + job.drift_ps, stats

    def event(self, line, meta, begin, dur, extra=None):
        at, stats = self.place(begin, dur)
        line.append((meta, at, dur, {**stats, **(extra or {})}))

    def run_ops(self, ops, at):
        for op in ops:
            at = self.run_op(op, at)
            at += self.rnd.choice((0, 0, 0, self.rnd.randrange(1, 20_000)))
        return at

    def run_op(self, op, at):
        rnd, job = self.rnd, self.job
        extra = {}
        if op.collective:
            extra.update(all_reduce_id=U(op.collective), all_reduce_unique_id=U(op.collective * 100 + self.step))
        stall = rnd.choice((int, U))(rnd.randrange(1 + op.dur // 2))
        for key, name, value in (('dma', 'dma_stall_duration_ps', stall), ('energy', 'vdd_energy_j', rnd.random()),
                                 ('dvfs', 'Time Scale Multiplier', rnd.choice((0.5, 0.9, 1.1))), ('run_id', 'run_id', U(rnd.randrange(99))),
                                 ('estimated', 'estimated_flops', U(rnd.randrange(1 << 20)))):
            if rnd.random() < job.few[key]:
                extra[name] = value
        meta = self.plane.meta(op.text, op.name, key=id(op), **op.stats)
        here = len(self.ops)
        self.ops.append(None)
        if op.inner:
            end = at + rnd.randrange(2000)
            for _ in range(op.trips):
                end = self.run_ops(op.inner, end)
            end += rnd.randrange(2000)
        else:
            end = at + max(0 if rnd.random() < job.few['zero'] * 0.1 else 1, int(op.dur * rnd.uniform(1 - job.jitter, 1 + job.jitter)))
        if op.offload is not None and job.has['sparse'] and job.chip[2]:
            extra.update(offload_core_id=U(rnd.randrange(job.chip[2])), tc_offload_start_id=op.offload)
            self.offloads.append((at, end, extra['offload_core_id'], op.offload))
        line, self.ops = self.ops, []
        self.event(self.ops, meta, at, end - at, extra)
        line[here], self.ops = self.ops[0], line
        if op.category.endswith('-start') and job.has['async']:
            self.event(self.asyncs, meta, at, rnd.randrange(1, 10 * US))
        return end

    def run(self, program, at, run_id):
        begin = at
        at = self.run_ops(program.body, at + self.rnd.choice((0, self.rnd.randrange(1, 50_000))))
        at += self.rnd.choice((0, self.rnd.randrange(1, 50_000)))
        meta = self.plane.meta(f'{program.name}({program.ident})', '', key='module', program_id=U(program.ident))
        self.event(self.modules, meta, begin, at - begin, {'run_id': U(run_id), 'queue_id': 0})
        self.runs.append((begin, at, run_id))
        return at

    def all_steps(self):
        job, at, run_id = self.job, 100 * US + self.job.skew * self.ordinal, 1000
        for self.step, runs in enumerate(job.plan()):
            begin = at
            for program in runs:
                at = self.run(program, at, run_id) + self.rnd.choice((0, self.rnd.randrange(1, US)))
                run_id += 1
            if not (self.step == 0 and job.cut_first):
                idle = {'step_idle_time_ps': self.rnd.randrange(1000)} if job.has['idle'] else {}
                self.event(self.steps, self.plane.meta(str(job.first_step + self.step)), begin, at - begin + job.overlap, idle)
            at += job.gap and int(job.gap * self.rnd.uniform(0.5, 1.5))
        self.end = at

    def build(self):
        job, plane = self.job, self.plane
        self.own_stats()
        self.all_steps()
        for ident, name, events, there in ((1, 'Steps', self.steps, job.has['steps']), (2, 'XLA Modules', self.modules, job.has['modules']),
                                           (3, 'XLA Ops', self.ops, True), (4, 'Async XLA Ops', self.asyncs, job.has['async'])):
            if there:
                plane.line(ident, name, job.line_ns, events)
        if job.has['traceme']:
            meta = plane.meta('user_scope')
            plane.line(5, 'XLA TraceMe', job.line_ns, [(meta, b, max(1, e - b), {}) for b, e, _ in self.runs])
        if job.has['unknown_lines']:
            plane.line(7, 'Scalar unit', job.line_ns, [(plane.meta('spin'), 0, self.end // 2, {})])
        return plane.fields()


def counter_plane_lines(job, core):
    """Counters without known registers: what perf_counters lists."""
    plane, rnd = core.plane, core.rnd
    events = [(plane.meta(f'Unit{k}_COUNT'), 0, 0, {'counter_value': rnd.choice((U(rnd.randrange(1 << 40)), rnd.randrange(1 << 20))),
                                                   'performance_counter_id': U(k + 1), 'performance_counter_description': f'what unit {k} does',
                                                   'performance_counter_sets': rnd.choice(('set0', 'set0 set1', ''))}) for k in range(5)]
    plane.line(9, rnd.choice(('_counters_', 'kernel')), job.line_ns, events)


def sparse_plane(job, core, number):
    """A SparseCore: what TensorCores hand to it, or steps of its own."""
    rnd, plane = core.rnd, Plane(f'/device:TPU:{core.ordinal} SparseCore {number}', 100 + 4 * core.ordinal + number)
    if job.has['core_details']:
        plane.own.append(plane.stat('core_details', xspace.serialize([[2, 0, core.ordinal], [4, 0, core.chip]])))
    program = job.programs[0]
    metas = [plane.meta(f'%sc_gather.{k} = f32[8] gather()', f'sc_gather.{k}', hlo_category=rnd.choice(('gather', 'scatter', 'sort')),
                        program_id=U(program.ident), symbol_id=U(5000 + k), tf_op=f'jit(f)/embed_{k}/gather:gather') for k in range(3)]
    steps, modules, ops = [], [], []
    spans = [(b, e, {'offload_core_id': c, 'tc_offload_start_id': U(s)}) for b, e, c, s in core.offloads if c == number]
    spans = spans or [(b, e, {}) for b, e, _ in core.runs]
    for begin, end, ids in spans:
        at, last = begin, end
        dev = {'device_offset_ps': U(begin), 'device_duration_ps': U(max(1, end - begin))}
        modules.append((plane.meta(f'sc_{program.name}({program.ident})'), begin + job.drift_ps, max(1, end - begin), {**dev, **ids}))
        steps.append((plane.meta(str(len(steps))), begin + job.drift_ps, max(1, end - begin), dict(dev)))
        while at + 2 < last and rnd.random() < 0.8:
            dur = rnd.randrange(1, 1 + (last - at) // 2)
            ops.append((rnd.choice(metas), at + job.drift_ps, dur, {'device_offset_ps': U(at), 'device_duration_ps': U(dur)}))
            at += dur + rnd.randrange(1000)
    if rnd.random() < 0.7:
        plane.line(1, 'Sparse Core Steps', job.line_ns, steps)
    plane.line(2, 'Sparse Core Modules', job.line_ns, modules)
    plane.line(3, 'Sparse Core Ops', job.line_ns, ops)
    return plane.fields()


def metadata_plane(job):
    plane = Plane('/host:metadata', 900)
    for program in job.kept:
        ident = program.ident if program.ident < 1 << 63 else program.ident - (1 << 64)
        plane.meta(f'{program.name}({program.ident})', ident=ident, **{'Hlo Proto': program.module.proto()})
    return plane.fields()


class Host:
    """The threads of a host."""

    def __init__(self, job, cores, number):
        self.job, self.cores, self.plane, self.rnd = job, cores, Plane('/host:CPU', 1), random.Random(f'{number}/{job.rnd.random()}')

    def line(self, ident, name, events):
        events.sort(key=lambda e: (e[1], -e[2]))
        self.plane.line(ident, name, 0, events)

    def shift(self, at):
        return at + self.job.line_ns * 1000 + self.job.drift_ps

    def training(self):
        """Marks of steps, launches that reach the device, ops of the framework, waits for input."""
        rnd, job, p, events = self.rnd, self.job, self.plane, []
        runs = self.cores[0].runs
        per_step = [len(r) for r in job.plan()]
        at = 0
        for k, n in enumerate(per_step):
            begin, end = self.shift(runs[at][0]) - 20 * US, self.shift(runs[at + n - 1][1]) - 15 * US
            if job.has['marks']:
                events.append((p.meta('train'), begin, max(30, end - begin), {'_r': 1, 'step_num': job.first_step + k}))
            span = max(30, end - begin)
            if job.has['input']:
                events.append((p.meta('IteratorGetNext:IteratorGetNext'), begin + 1, span // 10, {}))
            if rnd.random() < 0.5:
                events.append((p.meta(rnd.choice(('dense/MatMul:MatMul', 'InfeedEnqueueTuple:InfeedEnqueueTuple', 'loss', 'jit(f)/x:mul'))),
                               begin + 2 + span // 10, span // 8, {}))
            for j in range(n if job.has['launches'] else 0):
                stats = {'run_id': U(runs[at + j][2]), 'queue_id': 0, 'device_ordinal': 0}
                events.append((p.meta('DoEnqueueProgram'), begin + 5 + span // 3 + 3 * j, 2, stats))
            at += n
        self.line(1001, 'python', events)

    def input_threads(self):
        rnd, p, events = self.rnd, self.plane, []
        for k in range(self.job.nsteps * 2):
            at, dur = 50 * US + k * 30 * US, rnd.randrange(100, 20 * US)
            names = rnd.choice((('Iterator::Batch', 'Iterator::Batch::Map', 'Iterator::Batch::Map::TFRecord'), ('Iterator::Prefetch::Generator',),
                                ('Iterator::Root::Prefetch::ParallelMap::TFRecord',)))
            for depth, name in enumerate(names):
                events.append((p.meta(name), at + depth * 10, max(1, dur - depth * 20), {'id': depth + 1, 'parent_id': depth}))
        self.line(1002, 'tf_data_private', events)
        stages = [(p.meta(f'stage{k % 2}'), 60 * US + k * 9 * US, 4 * US, {'_ipl_stage_id': k % 2 + 70_001, '_ipl_stage_name': f'stage{k % 2}',
                   '_ipl_stage_cat': rnd.choice(('read', 'preprocessing', 'enqueue', 'odd'))}) for k in range(4)]
        if rnd.random() < 0.4:
            self.line(1004, 'stages', stages)

    def serving(self):
        rnd, p, events = self.rnd, self.plane, []
        for k in range(rnd.randrange(2, 90)):
            at, dur = 40 * US + k * 13 * US, rnd.randrange(3 * US, 12 * US)
            stats = {'_r': 1}
            if self.job.all_named or rnd.random() < 0.9:
                stats['model_id'] = f'm{k % 2}:1'
            events.append((p.meta(self.job.root), at, dur, stats))
            for name, begin, end in (('TransferH2DRequest', 0.1, 0.2), ('TPUPartitionedCallOp-ExecuteLocal', 0.3, 0.8),
                                     ('DoEnqueueProgram', 0.4, 0.5), ('CompleteCallbacks', 0.82, 0.85), ('TransferD2HRequest', 0.86, 0.9)):
                if rnd.random() < 0.8:
                    events.append((p.meta(name), at + int(begin * dur), int((end - begin) * dur), {}))
        self.line(1003, 'serving', events)

    def build(self):
        job, p = self.job, self.plane
        if job.has['use']:
            p.own += [p.stat('matrix_unit_utilization_percent', self.rnd.uniform(0, 99)), p.stat('hbm_utilization_percent', self.rnd.uniform(0, 99))]
        self.training()
        if job.has['input']:
            self.input_threads()
        if job.has['serving']:
            self.serving()
        return p.fields()


def files(seed):
    """[(file name, bytes)], one a host."""
    job, out = Job(seed), []
    for h in range(job.nhosts):
        cores = [Core(job, h, c, k) for c in range(job.nchips) for k in range(job.chip[1])]
        planes = []
        for core in cores:
            planes.append(core.build())
            if job.has['counters']:
                counter_plane_lines(job, core)
                planes[-1] = core.plane.fields()
        for core in cores:
            for number in range(job.chip[2] if job.has['sparse'] else 0):
                planes.append(sparse_plane(job, core, number))
        if job.has['hlo']:
            planes.append(metadata_plane(job))
        if job.has['host']:
            planes.append(Host(job, cores, h).build())
        errors = [[2, 2, b'a chip did not answer'], [3, 2, b'events were dropped']] if job.has['errors'] else []
        out.append((f'host{h}.xplane.pb', xspace.serialize(planes + errors + [[4, 2, f'host{h}'.encode()]])))
    return out


def main():
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, data in files(sys.argv[1]):
        with open(os.path.join(sys.argv[2], name), 'wb') as f:
            f.write(data)


if __name__ == '__main__':
    main()
