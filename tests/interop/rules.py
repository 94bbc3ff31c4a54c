#!/usr/bin/env python3
"""Rules that XProf follows and that samples do not show, one small profile each: what it must give.

    rules.py [--bin build/stepscope] [--xprof]      --xprof: ask XProf 2.24.2 as well, for it is where the values come from

A rule that a live comparison found goes here, so that it holds where no XProf is.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import against_xprof
import serving
import xspace
from jobs import US, Plane, U

CYCLES, SCALAR = 0xc2290008, 0xc2290058     # counters of v6e: 1750 cycles are a microsecond


def core(kind='TPU v6 Lite', details=True, number=0):
    plane = Plane(f'/device:TPU:{number}', 2 + number)
    plane.own = [plane.stat('device_type_string', kind), plane.stat('device_id', number), plane.stat('peak_hbm_bw_gigabytes_per_second', 1640.0)]
    if details:
        plane.own.append(plane.stat('core_details', xspace.serialize([[2, 0, number], [4, 0, number]])))
    return plane


def span(begin, end, **more):
    return {'device_offset_ps': U(begin * US), 'device_duration_ps': U((end - begin) * US), **more}


def rows(plane, ident, name, spans, meta):
    """spans: [(name, begin, end) or with stats behind], in microseconds."""
    plane.line(ident, name, 0, [(meta(s[0]), s[1] * US, (s[2] - s[1]) * US, span(s[1], s[2], **(s[3] if len(s) > 3 else {}))) for s in spans])


def steps(plane, *spans):
    rows(plane, 1, 'Steps', [(str(i), *s) for i, s in enumerate(spans)], plane.meta)


def ops(plane, *spans, **stats):
    def meta(name):
        return plane.meta(f'%{name} = f32[] x()', name, **{'program_id': U(5), 'symbol_id': U(ord(name[0])), 'hlo_category': f'cat {name}', **stats})
    rows(plane, 3, 'XLA Ops', spans, meta)


def space(*planes):
    return xspace.serialize([p.fields() for p in planes] + [[4, 2, b'host0']])


def cells(table, *columns):
    ids = [c['id'] for c in table['cols']]
    return [tuple(r['c'][ids.index(c)]['v'] for c in columns) for r in table['rows']]


def parts(answer, part):
    """What the only core spent on a part of each step."""
    return [c['stepBreakdownUs'][part] for s in answer['podStatsSequence']['podStatsMap'] for c in s['podStatsPerCore'].values()]


def launched(*modules):
    """Steps that touch, each of them started by a call of its own."""
    plane, host, calls = core(), Plane('/host:CPU', 1), []
    steps(plane, (100, 200), (200, 300), (300, 400))
    rows(plane, 2, 'XLA Modules', [('m(5)', b, e, {'run_id': U(k), 'queue_id': 0}) for k, (b, e) in enumerate(modules)], plane.meta)
    ops(plane, *(('f', b, e) for b, e in modules))
    for k in range(len(modules)):
        calls.append((host.meta('train'), (10 * k + 1) * US, 5 * US, {'_r': 1, 'step_num': 50 + k}))
        calls.append((host.meta('DoEnqueueProgram'), (10 * k + 2) * US, US, {'run_id': U(k), 'queue_id': 0, 'device_ordinal': 0}))
    host.line(1, 'python', 0, calls)
    return space(plane, host)


def touching():
    return launched((100, 200), (200, 300), (300, 400)), 'pod_viewer', lambda a: len(a['podStatsSequence']['podStatsMap']), 2


def touching_part():
    return launched((90, 190), (200, 290), (300, 410)), 'pod_viewer', lambda a: len(a['podStatsSequence']['podStatsMap']), 1


def self_time(spans, bounds=((0, 1000),), part=None):
    plane = core()
    steps(plane, *bounds)
    ops(plane, *spans)
    if part:
        return space(plane), 'pod_viewer', lambda a: parts(a, '1'), part
    return space(plane), 'hlo_stats', lambda a: dict(cells(a, 'hlo_op_name', 'total_self_time'))


def overlapping():
    """80 + 75 of 100 us are handed over to others; the second run makes up for what is missing."""
    return *self_time([('p', 0, 100), ('a', 10, 90), ('b', 20, 95), ('p', 200, 400)]), {'p': 145, 'a': 80, 'b': 75}


def across_steps():
    """An operation across a border loses to all of those inside that are in steps."""
    return self_time([('x', 50, 290), ('a', 60, 70), ('b', 110, 120), ('c', 210, 220)], ((0, 100), (100, 200), (200, 300)), [220, 10, 10])


def outside_steps():
    return self_time([('x', 50, 130), ('b', 110, 120)], ((0, 100),), [80])


def stalls():
    plane = core()
    steps(plane, (0, 100))
    ops(plane, ('a', 0, 10, {'dma_stall_duration_ps': 4 * US}), ('b', 20, 30, {'dma_stall_duration_ps': U(4 * US)}))
    return space(plane), 'hlo_stats', lambda a: dict(cells(a, 'hlo_op_name', 'dma_stall_percent')), {'a': 0.4, 'b': 0}


def long_step():
    """Operations that go on beyond their step's marker make the step as long as they are."""
    plane = core()
    steps(plane, (0, 100))
    ops(plane, ('a', 0, 60), ('b', 60, 90), ('c', 90, 170))
    return space(plane), 'roofline_model', lambda a: [t for s, t in cells(a[0], 'step', 'total_time') if s in ('Average', '0')], [170, 170] * 2


def sparse(details, busy, steps_too=True):
    plane, sc = core(), Plane('/device:TPU:0 SparseCore 0', 100)
    if steps_too:
        steps(plane, (0, 100))
    ops(plane, ('a', 0, 10))
    if details:
        sc.own = [sc.stat('core_details', b'')]
    if busy:
        rows(sc, 3, 'Sparse Core Ops', [('g', 20, 30)], lambda n: sc.meta(n, n, program_id=U(5), symbol_id=U(1)))

    def read(answer):
        return 'scv0ComputeTimeMs' in [c['id'] for c in answer[1]['cols']], answer[1]['p'].get('sc_active_ms_average')
    return space(plane, sc), 'input_pipeline_analyzer', read


def sparse_without_details():
    return *sparse(False, True), (False, '0.01')


def sparse_idle():
    return *sparse(True, False), (False, None)


def sparse_unknown():
    return *sparse(False, False), (True, None)


def handed_over(runs, kind=U):
    """What a SparseCore ran for an operation: its first run says it. The number it is known by is signed there, unsigned here."""
    plane, sc = core(), Plane('/device:TPU:0 SparseCore 0', 100)
    ops(plane, *(('a', 20 * k, 20 * k + 10, {'offload_core_id': U(0), 'tc_offload_start_id': s} if s else {}) for k, s in enumerate(runs)))
    rows(sc, 2, 'Sparse Core Modules', [('sc_m(5)', 100, 200, {'offload_core_id': U(0), 'tc_offload_start_id': kind(7)}),
                                        ('sc_m(5)', 300, 400, {'offload_core_id': U(0), 'tc_offload_start_id': kind(8)})], sc.meta)
    rows(sc, 3, 'Sparse Core Ops', [('g', 110, 120), ('h', 310, 320)], lambda n: sc.meta(f'%{n} = g()', n, program_id=U(5), symbol_id=U(ord(n))))
    return space(plane, sc), 'hlo_stats', lambda a: sorted(c[0] for c in cells(a, 'hlo_op_name'))


def handed_over_first():
    return *handed_over([7, 8]), ['a', 'g']


def handed_over_later():
    return *handed_over([None, 7]), ['a']


def handed_over_unsigned():
    return *handed_over([U(7)]), ['a']


def handed_over_both_wrong():
    """Both numbers are 0 to XProf."""
    return *handed_over([U(7)], int), ['a', 'g', 'h']


def handed_over_alike():
    """SparseCores of several chips with the same numbers: the last plane counts."""
    plane, cores = core(), []
    ops(plane, ('a', 0, 10, {'offload_core_id': U(0), 'tc_offload_start_id': 7}))
    for chip, name in enumerate('gh'):
        sc = Plane(f'/device:TPU:{chip} SparseCore 0', 100 + chip)
        rows(sc, 2, 'Sparse Core Modules', [('sc_m(5)', 100, 200, {'offload_core_id': U(0), 'tc_offload_start_id': U(7)})], sc.meta)
        rows(sc, 3, 'Sparse Core Ops', [(name, 110, 120)], lambda n, sc=sc: sc.meta(f'%{n} = g()', n, program_id=U(5), symbol_id=U(ord(n))))
        cores.append(sc)
    return space(plane, *cores), 'hlo_stats', lambda a: [c[0] for c in cells(a, 'hlo_op_name')], ['a', 'h']


def counted(line='_counters_', cycles=0, kernel=None, lasts=0, also=()):
    plane = core()
    if kernel:
        ops(plane, *kernel)
    for made in also:
        steps(plane, made)
    values = [(SCALAR, 1750)] + ([(CYCLES, cycles)] if cycles else [])
    plane.line(9, line, 0, [(plane.meta(f'U{i}'), 0, lasts * US, {'counter_value': U(v), 'performance_counter_id': U(i)}) for i, v in values])

    def first(answer):
        k = answer['devices'][0]['kernels'][0]
        return k['kernel_name'], k['duration_us'], k['other_metrics'].get('Scalar Unit')
    return space(plane), 'kernel_utilization', first


def kernel_of_ops():
    """The earliest that lasts, of those the longest; it stands for cycles that were not counted."""
    return *counted(kernel=[('b', 110, 140), ('a', 100, 110), ('c', 100, 150), ('z', 90, 90)]), ('%c = f32[] x()', 50, 1)


def kernel_runs_again():
    """A kernel with a name lasts as long as its longest run, one without as long as the first."""
    return *counted(kernel=[('a', 100, 110), ('b', 120, 160), ('a', 200, 225)]), ('%a = f32[] x()', 25, 2)


def kernel_counted():
    return *counted(cycles=17500, kernel=[('a', 100, 150)]), ('%a = f32[] x()', 50, 5)


def kernel_line_lasts():
    return *counted(kernel=[('a', 100, 150)], lasts=5), ('%a = f32[] x()', 5, 10)


def kernel_of_named_line():
    return *counted(line='kernel_a', kernel=[('a', 100, 150)]), ('default_kernel', 50, 1)


def kernel_of_steps():
    return *counted(also=[(0, 25)]), ('0', 25, 2)


def kernel_unknown():
    return *counted(cycles=17500), ('default_kernel', 10, 5)


def scopes():
    """Scopes that begin and end together are fitted into one another only as far as the innermost is long."""
    plane = core()
    steps(plane, (0, 200))
    plane.line(3, 'XLA Ops', 0, [(plane.meta('%w', 'w', tf_op='a/b/c/w:W'), 0, 90 * US, span(0, 90)),
                                 (plane.meta('%i', 'i', tf_op='a/b/d/i:I'), US, 500, {}),
                                 (plane.meta('%x', 'x', tf_op='e/f/g/x:X'), 100 * US, 90 * US, span(100, 190)),
                                 (plane.meta('%y', 'y', tf_op='e/f/h/y:Y'), 110 * US, 9 * US, span(110, 119))])

    def lengths(answer):
        return {e['name']: e['dur'] for e in answer['traceEvents'] if e.get('ph') == 'X' and len(e['name']) == 1 and e['name'].islower() and
                e['tid'] == 0xdeadbeef + 2}
    return space(plane), 'trace_viewer', lengths, {'a': 90, 'b': 90, 'c': 90, 'd': 0.0005, 'e': 90, 'f': 89.999, 'g': 90, 'h': 8.999}


def copied(*requests):
    """Requests, and what tensors were copied in each: [(kind, stats)], a microsecond each."""
    host, events = Plane('/host:CPU', 1), []
    for k, tensors in enumerate(requests):
        at = (10 + 20 * k) * US
        events.append((host.meta('SessionRun'), at, 15 * US, {'_r': 1, 'model_id': 'm'}))
        events += [(host.meta(kind), at + (2 * i + 1) * US, US, stats) for i, (kind, stats) in enumerate(tensors)]
    host.line(1, 'serving', 0, events)
    return space(host), 'inference_profile', lambda a: [sorted(cells(t, 'tensor_pattern', 'count')) for t in a[2:]]


def tensors_copied():
    a, b = ('Linearize', {'shape': 'f32[8]', 'layout': '{0}'}), ('Delinearize', {'shape': 'u8[2]', 'layout': ''})
    return *copied([a, b], [b, a], [b]), [[('Delinearize u8[2] ', 1), ('Delinearize u8[2] <br>Linearize f32[8] {0}', 2)]]


def tensors_unsaid():
    return *copied([('Linearize', {'shape': 'f32[8]'}), ('Linearize', {'layout': '{0}'}), ('Linearize', {'shape': '', 'layout': '{0}'})]), []


def custom_plane():
    """Processes of planes that are no device's have the plane's number, however large."""
    plane = Plane('/device:CUSTOM:runtime', 950)
    plane.line(1, 'calls', 0, [(plane.meta('call'), US, US, {})])
    return space(plane), 'trace_viewer@', lambda a: [e['pid'] for e in a['traceEvents'] if e.get('ph') == 'X'], [2451]


RULES = (
    touching, touching_part, overlapping, across_steps, outside_steps, stalls, long_step, sparse_without_details, sparse_idle, sparse_unknown,
    handed_over_first, handed_over_later, handed_over_unsigned, handed_over_both_wrong, handed_over_alike, kernel_of_ops,
    kernel_runs_again, kernel_counted, kernel_line_lasts, kernel_of_named_line, kernel_of_steps, kernel_unknown, scopes, custom_plane,
    tensors_copied, tensors_unsaid)


def same(a, b):
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in b)
    return abs(a - b) < 1e-6 if isinstance(b, (int, float)) and not isinstance(b, bool) and isinstance(a, (int, float)) else a == b


def ask(binary, logdir, tool):
    with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
        status, body = server.get(serving.DATA, {'run': 'run', 'tag': tool, 'host': 'host0', 'hosts': 'host0'})
    return json.loads(body) if status == 200 else {'status': status}


def of_xprof(scratch, cases):
    requests = []
    for name, (logdir, tool) in cases.items():
        fresh = shutil.copytree(logdir, os.path.join(scratch, 'xprof', name))
        params = {'hosts': ['host0'], 'use_saved_result': False}
        if tool.startswith('trace_viewer'):
            params['trace_viewer_options'] = {'resolution': '8000', 'full_dma': False}
        requests.append({'id': name, 'files': [os.path.join(fresh, 'plugins/profile/run/host0.xplane.pb')], 'tool': tool, 'params': params})
    return {name: json.loads(r['answer']) for name, r in against_xprof.ask_xprof(requests).items() if r['answer']}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=against_xprof.BIN)
    parser.add_argument('--xprof', action='store_true')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        cases, made = {}, {rule.__name__: rule() for rule in RULES}
        for name, (data, tool, _, _) in made.items():
            cases[name] = against_xprof.layout(scratch, name, [('host0.xplane.pb', data)]), tool
        theirs = of_xprof(scratch, cases) if args.xprof else {}
        for name, (_, tool, read, expected) in made.items():
            answers = {'here': ask(args.bin, *cases[name])}
            if args.xprof:
                answers['XProf'] = theirs[name]
            for who, answer in answers.items():
                got = read(answer)
                good = same(got, expected)
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print(f'{name} ({tool}), {who}: {got} instead of {expected}')
    print(f'{passed} passed, {failed} failed')
    return 0 if passed and not failed else 1


if __name__ == '__main__':
    sys.exit(main())
