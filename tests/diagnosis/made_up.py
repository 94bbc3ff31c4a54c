"""Profiles made up for one question each: what a recording lacks, kernels of CUDA graphs, marks of Keras, functions compiled again."""
import gzip
import json
import os
import subprocess
import tempfile

import hlo
import runs

US = 1_000_000
MS = 1000 * US


def ask(binary, *args):
    done = subprocess.run([binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def space(*planes, errors=(), warnings=()):
    return (b''.join(runs.field(1, p.bytes()) for p in planes) + b''.join(runs.field(2, e) for e in errors) +
            b''.join(runs.field(3, w) for w in warnings))


def answer(binary, data, name='a.xplane.pb'):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, name)
        with open(path, 'wb') as f:
            f.write(data)
        status, out, err = ask(binary, 'summary', path, '--format', 'json')
    return json.loads(out) if status == 0 else {'status': status, 'error': err, 'incomplete': [], 'findings': []}


# ---- CUDA graphs ----

def graph_program(twins=False):
    m, f32 = hlo.Module('jit_step'), hlo.Shape('f32', (64, 64))
    fused = m.computation('fused_add')
    fused.add('add.7', 'add', f32, [fused.parameter('p.1', f32), fused.parameter('p.2', f32)])
    body = m.computation('command_buffer')
    x = body.parameter('p.3', f32)
    a = body.add('loop_add_fusion.1', 'fusion', f32, [x, x], [fused], op_name='jit(step)/layer0/add')
    g = body.add('cublas-gemm.1', 'custom-call', f32, [a, x], op_name='jit(step)/layer0/dot_general')
    b = body.add('loop_add_fusion.2', 'fusion', f32, [g, x], [fused], op_name='jit(step)/layer1/add')
    if twins:
        b = body.add('cublas-gemm.2', 'custom-call', f32, [b, x], op_name='jit(step)/layer1/dot_general')
        b = body.add('cublas-gemm.3', 'custom-call', f32, [b, x], op_name='jit(step)/layer2/dot_general')
    main = m.computation('main')
    y = main.parameter('p.4', f32)
    main.add('call.4', 'call', f32, [y], [body])
    return m.proto(7)


def graph_profile(kernels, caller='call.4', twins=False, node_level=True):
    gpu, programs, host = runs.Plane(2, '/device:GPU:0'), runs.Plane(3, '/host:metadata'), runs.Plane(1, '/host:CPU')
    gpu.stats += runs.field(6, gpu.stat('device_vendor', 'Nvidia'))
    programs.meta('jit_step(7)', stats={'Hlo Proto': graph_program(twins)}, number=7)
    stream, thread = gpu.line('Stream #13(Kernel)'), host.line('python')
    for step in range(4):
        t = step * MS
        host.event(thread, host.meta('train'), t, MS, {'step_num': step})
        host.event(thread, host.meta('cuGraphLaunch'), t, 20 * US, {'correlation_id': 100 + step})
        for i, (name, us) in enumerate(kernels):
            stats = {'correlation_id': 100 + step, 'hlo_op': caller, 'hlo_module': 'jit_step', 'program_id': 7,
                     'kernel_details': 'regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:128,1,1 occ_pct:50.0'}
            if node_level:
                stats['cuda_graph_id'] = 5
            gpu.event(stream, gpu.meta(name), t + (30 + 200 * i) * US, us * US, stats)
    return space(host, gpu, programs)


def times_by_operation(binary, data):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, 'a.xplane.pb')
        with open(path, 'wb') as f:
            f.write(data)
        _, out, _ = ask(binary, 'tool', 'hlo_stats', path, '--format', 'json')
        _, theirs, _ = ask(binary, 'tool', 'hlo_stats', path, '--format', 'xprof')
    def of(table):
        cols = {c['id']: table['data'][i] for i, c in enumerate(table['cols'])}
        return {n: round(t) for n, t in zip(cols['hlo_op_name'], cols['total_time']) if n != 'IDLE'}
    return of(json.loads(out)['tables'][0]), theirs


def judge_graphs(binary, check):
    named = [('loop_add_fusion_1', 50), ('ampere_sgemm_128x64_tn', 100), ('loop_add_fusion_2', 40)]
    got, theirs = times_by_operation(binary, graph_profile(named))
    check('graph: each kernel is given to its instruction', got == {'loop_add_fusion.1': 200, 'cublas-gemm.1': 400, 'loop_add_fusion.2': 160}, got)
    check('graph: XProf\'s route knows the call alone', 'call.4' in theirs and 'cublas-gemm.1' not in theirs)
    gaps = answer(binary, graph_profile(named))['incomplete']
    check('graph: nothing is missing', not any('CUDA graphs' in g for g in gaps), gaps)
    got, _ = times_by_operation(binary, graph_profile(named, caller='command_buffer'))
    check('graph: the event may name the computation', got.get('cublas-gemm.1') == 400, got)
    # A kernel of XLA's own that no instruction has the name of: what lies beside it cannot be told.
    got, _ = times_by_operation(binary, graph_profile([('loop_add_fusion_1', 50), ('ampere_sgemm_128x64_tn', 100), ('other_fusion', 40)]))
    check('graph: no guess', got == {'loop_add_fusion.1': 200, 'call.4': 560}, got)
    # Two kernels for three instructions of a library, and three for three.
    lib = [('sm80_gemm_a', 30), ('sm80_gemm_b', 20)]
    got, _ = times_by_operation(binary, graph_profile(named + lib, twins=True))
    check('graph: as many kernels as instructions', got.get('cublas-gemm.2') == 120 and got.get('cublas-gemm.3') == 80, got)
    got, _ = times_by_operation(binary, graph_profile(named + lib + [('splitKreduce', 10)], twins=True))
    check('graph: more kernels than instructions', 'cublas-gemm.2' not in got and got.get('call.4') == 240, got)
    gaps = answer(binary, graph_profile(named + lib + [('splitKreduce', 10)], twins=True))['incomplete']
    check('graph: the share is said', any('CUDA graphs' in g and '24.0%' in g for g in gaps), gaps)
    # One kernel for two equal instructions tells neither.
    got, _ = times_by_operation(binary, graph_profile([('loop_add_fusion_1', 50), ('ampere_sgemm_128x64_tn', 100), ('loop_add_fusion_1', 40)]))
    check('graph: equal kernels', 'loop_add_fusion.1' not in got, got)
    got, _ = times_by_operation(binary, graph_profile(named, node_level=False))
    check('without a graph events say it themselves', got == {'call.4': 760}, got)


# ---- what is missing ----

def little(events=40, **more):
    host = runs.Plane(1, '/host:CPU')
    thread = host.line('python')
    for i in range(events):
        host.event(thread, host.meta('train'), i * 10 * MS, 10 * MS, {'step_num': i})
        host.event(thread, host.meta('$main.py:3 load'), i * 10 * MS, 7 * MS)
    return space(host, **more)


def judge_missing_parts(binary, check):
    whole = little()
    gaps = answer(binary, whole)['incomplete']
    check('whole: nothing is missing', not gaps, gaps)
    o = answer(binary, little(warnings=['7 dropped events, because the buffer of 4 MiB was full']))
    check('CUPTI\'s buffers', any('no room' in g and '7 dropped' in g for g in o['incomplete']), o['incomplete'])
    o = answer(binary, little(errors=['CUPTI_ERROR_NOT_INITIALIZED']))
    check('the profiler\'s errors', any('CUPTI_ERROR_NOT_INITIALIZED' in g for g in o['incomplete']), o['incomplete'])
    o = answer(binary, whole[:len(whole) * 2 // 3])
    check('a file that is cut', any('cut' in g or 'trunc' in g or 'end' in g for g in o['incomplete']), o)
    o = answer(binary, b'')
    check('a file of zero bytes is named', o.get('status') == 1 and "a.xplane.pb' is empty" in o['error'], o)
    events = [{'ph': 'M', 'pid': 1, 'name': 'process_name', 'args': {'name': '/host:CPU'}}]
    events += [{'ph': 'X', 'pid': 1, 'tid': 1, 'ts': i, 'dur': 1, 'name': 'f'} for i in range(1_000_000)]
    for n, capped in ((1_000_001, True), (1_000_000, False)):
        trace = gzip.compress(json.dumps({'displayTimeUnit': 'ns', 'metadata': {'highres-ticks': True},
                                          'traceEvents': events[:n]}).encode(), 1)
        gaps = answer(binary, trace, 'vm.trace.json.gz')['incomplete']
        check(f'{n - 1:,} events of a trace', any('one million' in g for g in gaps) == capped, gaps)


def device_profile(first, last, name='fusion.1'):
    host, tpu = runs.Plane(1, '/host:CPU'), runs.Plane(2, '/device:TPU:0')
    thread, ops, steps = host.line('python'), tpu.line('XLA Ops'), tpu.line('Steps')
    for i in range(20):
        host.event(thread, host.meta('train'), i * 10 * MS, 10 * MS, {'step_num': i})
        if first <= i < last:
            tpu.event(ops, tpu.meta(name, stats={'hlo_category': 'loop fusion'}), i * 10 * MS, 9 * MS)
    return space(host, tpu)


def judge_covered(binary, check):
    for first, last, word in ((0, 20, None), (8, 20, 'first'), (0, 11, 'last')):
        gaps = answer(binary, device_profile(first, last))['incomplete']
        said = [g for g in gaps if 'Nothing of /device:TPU:0' in g]
        check(f'device with steps {first} to {last}', bool(said) == bool(word) and all(word in g for g in said), gaps)


def judge_nameless(binary, check):
    """A file that is cut before its names: no operation is called 'operations without a name'."""
    for name, word in (('fusion.1', 'the largest is fusion.1'), ('', 'The recording does not name them')):
        texts = [f['text'] for f in answer(binary, device_profile(0, 20, name))['findings'] if f['cause'] == 'compute']
        check(f"operations called '{name}'", len(texts) == 1 and word in texts[0] and 'without a name' not in texts[0], texts)


def judge_long_texts(binary, check):
    """A text of someone else's that is too long for a sentence ends in an ellipsis."""
    for n, cut in ((250, False), (400, True)):
        gaps = answer(binary, space(runs.Plane(1, '/host:CPU'), errors=(b'e' * n,)))['incomplete']
        said = [g for g in gaps if 'eee' in g]
        check(f'an error of {n} letters', len(said) == 1 and ('\u2026' in said[0]) == cut, gaps)


# ---- steps ----

def judge_keras(binary, check):
    """Keras marks steps with events of its own name that have a step_num; calls within are many and regular."""
    host = runs.Plane(1, '/host:CPU')
    thread, pool = host.line('python'), host.line('tf_pool')
    for i in range(11):
        host.event(thread, host.meta('Profiled batch'), i * 124 * MS, 124 * MS, {'step_num': 30 + i})
        host.event(thread, host.meta('IteratorGetNext'), i * 124 * MS + MS, 90 * MS)
        for k in range(30):
            host.event(pool, host.meta('MatMul:MatMul'), i * 124 * MS + 92 * MS + k * MS, MS // 2)
    o = answer(binary, space(host))
    steps = o['steps']
    check('Keras: 11 steps of 124 ms', steps['count'] == 11 and steps['source'] == 'marked' and abs(steps['mean_ps'] - 124 * MS) < MS, steps)
    check('Keras: they wait for input', o['findings'] and o['findings'][o['verdict']]['cause'] == 'input', o['findings'][:1])


def slow_steps(slow, steps=8):
    """Threads compute for 10 ms in each step; in slow ones for 40 ms, and score() is started besides."""
    host = runs.Plane(1, '/host:CPU')
    thread, pool, at = host.line('python'), host.line('tf_XLAEigen/1'), 0
    for i in range(steps):
        busy = (40 if i in slow else 10) * MS + i * 100 * US
        host.event(thread, host.meta('train'), at, busy + MS, {'step_num': i})
        host.event(thread, host.meta('PjitFunction(update)'), at + 10 * US, 90 * US)
        if i in slow:
            host.event(thread, host.meta('PjitFunction(score)'), at + 200 * US, 90 * US)
        host.event(pool, host.meta('dot.4'), at + 500 * US, busy, {'hlo_op': 'dot.4', 'hlo_module': 'jit_step', 'program_id': 7})
        at += busy + 2 * MS
    return space(host)


def stalls(slow, steps=12, other=None, name='packer', usual=False):
    """Slow steps do nothing for 40 ms, or another thread does something meanwhile; with `usual` in other steps, too."""
    host = runs.Plane(1, '/host:CPU')
    thread, pool, worker, at = host.line('python'), host.line('tf_XLAEigen/1'), host.line(name), 0
    for i in range(steps):
        busy = 50 * MS if i in slow else 10 * MS
        host.event(thread, host.meta('train'), at, busy, {'step_num': i})
        host.event(thread, host.meta('PjitFunction(update)'), at + 10 * US, 90 * US)
        host.event(pool, host.meta('dot.4'), at + 100 * US, 9 * MS, {'hlo_op': 'dot.4', 'hlo_module': 'jit_update', 'program_id': 7})
        if other and (i in slow or usual):
            host.event(worker, host.meta(other), at + busy - (38 if i in slow else 1) * MS, (38 if i in slow else 1) * MS + 5 * US)
        at += busy + 20 * US
    return space(host)


def judge_stalls(binary, check):
    alone = ' on thread \'packer\' runs in these steps alone, for 38.00 ms each'
    for other, usual, says in ((None, False, None), ('pack_shards', False, 'pack_shards' + alone), ('pack_shards', True, None),
                               ('$main.py:9 write', False, 'write (main.py:9)' + alone)):
        o = answer(binary, stalls({2, 5, 9}, other=other, usual=usual))
        f = next((f for f in o['findings'] if f['cause'] == 'outlier_steps'), {'text': '', 'advice': ['']})
        check(f'stalls, {other} meanwhile', 'steps 2, 5 and 9; they stall: nothing computes' in f['text'] and
              (says in f['text'] if says else 'alone' not in f['text']) and
              f['advice'][0].startswith('Do the extra work' if says else 'Put annotations'), f)
    f = answer(binary, stalls({2, 5, 9}, other='pack_shards', name='python'))['findings'][0]
    check('another thread of the same name', 'pack_shards on another thread runs' in f['text'], f)


def judge_few_steps(binary, check):
    """Of too few steps for outliers, those that have most of a cause are said; where all have it, none is."""
    for slow, steps, says in (({2}, 4, 'Step 2 (1 of 4) has'), ({0, 3}, 5, 'Steps 0 and 3 (2 of 5) have'), (set(range(4)), 4, None), (set(), 4, None)):
        f = next((f for f in answer(binary, stalls(slow, steps))['findings'] if f['cause'] == 'idle'), None)
        check(f'{slow} of {steps} steps', f is None and not slow or (f and (says in f['text'] if says else '(' not in f['text'].split('recorded)')[1])), f)


def judge_few_steps_of_one(binary, check):
    """Of two hosts, one stalls in a step of four."""
    with tempfile.TemporaryDirectory() as scratch:
        for host, slow in (('host0', set()), ('host1', {2})):
            with open(os.path.join(scratch, f'{host}.xplane.pb'), 'wb') as f:
                f.write(stalls(slow, 4))
        found = json.loads(ask(binary, 'summary', scratch, '--format', 'json')[1])['findings']
    f = next((f for f in found if f['cause'] == 'idle'), {'text': ''})
    check('the host that stalls in few steps', f['text'].endswith(' On host1, step 2 (1 of 4) has 93.8% of this time. This holds for 1 of 2 hosts.'), f)


def judge_slow_steps(binary, check):
    """A program that is started in slow steps alone is named where this is no chance; one of twelve is."""
    for slow, steps, says in (({0, 3, 6}, 8, 'steps 0, 3 and 6 (every 3rd)'), ({2, 7}, 12, 'steps 2 and 7;'), ({5}, 12, 'step 5;')):
        o = answer(binary, slow_steps(slow, steps))
        f = next((f for f in o['findings'] if f['cause'] == 'outlier_steps'), {'text': '', 'advice': ['']})
        named = 'score() is called in these steps alone' in f['text']
        check(f'slow steps {slow} of {steps}', says in f['text'] and named == (len(slow) > 1) and
              f['advice'][0].startswith('Do the extra work' if named else 'All steps do this'), f)
    o = answer(binary, slow_steps({0, 2, 3}))
    check('three of eight, not every third', all(f['cause'] != 'outlier_steps' for f in o['findings']), o['findings'])


def copies(slow, usual, more, steps=20, stretch=1):
    """PyTorch's steps of 10 ms copy `usual` times, each for 0.5 ms; slow ones `more` times larger tensors besides, or each takes longer."""
    events, at = [], 0.0

    def add(cat, name, begin, dur, **args):
        events.append({'ph': 'X', 'cat': cat, 'name': name, 'pid': 1, 'tid': 1, 'ts': begin, 'dur': dur, 'args': args})
    for i in range(steps):
        times = [(500.0 * (stretch if i in slow else 1), [[64, 64]])] * usual + [(1000.0, [[512, 512]])] * (more if i in slow else 0)
        begin, at = at, at + 1000.0
        add('cpu_op', 'aten::mm', begin + 10, 900.0)
        for dur, dims in times:
            add('cpu_op', 'aten::copy_', at, dur, **{'Input Dims': dims})
            at += dur + 5
        at = max(at, begin + 10000.0)
        add('user_annotation', f'ProfilerStep#{i}', begin, at - begin)
        at += 5
    return json.dumps({'schemaVersion': 1, 'record_shapes': 1, 'traceEvents': events}).encode()


def calls_again(slow, times, steps=20):
    """update() is called once, and `times` more in slow steps; the call behind a slow step waits for room in the queue."""
    host = runs.Plane(1, '/host:CPU')
    thread, pool, at = host.line('python'), host.line('tf_XLAEigen/1'), 0
    for i in range(steps):
        calls = 1 + (times if i in slow else 0)
        busy = calls * 4 * MS
        host.event(thread, host.meta('train'), at, busy + MS, {'step_num': i})
        for k in range(calls):
            host.event(thread, host.meta('PjitFunction(update)'), at + (10 + 100 * k) * US, (3500 if i - 1 in slow else 80) * US)
        host.event(pool, host.meta('dot.4'), at + 500 * US, busy, {'hlo_op': 'dot.4', 'hlo_module': 'jit_update', 'program_id': 7})
        at += busy + 2 * MS
    return space(host)


def judge_repeated(binary, check):
    """An operation of all steps that slow ones run more often is named with its counts, whatever its shapes; one that only takes longer is not."""
    for slow, usual, more, stretch, says in (
            ({4, 9, 14, 19}, 4, 24, 1, 'aten::copy_ runs 28 times in each of these steps and 4 times in most others, which takes 24.00 ms more a step'),
            ({7}, 1, 60, 1, 'aten::copy_ runs 61 times in this step and once in most others, which takes 60.00 ms more'),
            ({3, 8}, 0, 25, 1, 'aten::copy_ runs in these steps alone, for 25.00 ms each'),
            ({4, 9, 14, 19}, 4, 0, 20, None)):
        o = answer(binary, copies(slow, usual, more, stretch=stretch), 'a.pt.trace.json')
        f = next((f for f in o['findings'] if f['cause'] == 'outlier_steps'), {'text': '', 'advice': ['']})
        more_often = f['text'].endswith(says + '.') if says else f['text'].endswith('aten::copy_.')
        check(f'{more} more copies beside {usual}', more_often and (not says or f['advice'][0].startswith('Do the extra work')), f)
    for slow, times in (({4, 9, 14, 19}, 8), ({5}, 8)):
        f = next((f for f in answer(binary, calls_again(slow, times))['findings'] if f['cause'] == 'outlier_steps'), {'text': ''})
        says = 'update() is called 9 times in each of these steps and once in most others.'
        check(f'a program that is called again in {slow}', f['text'].endswith(says) == (len(slow) > 1) and f['text'], f)


def ranges(python, steps=8):
    """Eight of ten milliseconds pass in a range of the program within another, or in a function of Python."""
    events = []
    for i in range(steps):
        at = 10000.0 * i
        spans = [('user_annotation', f'ProfilerStep#{i}', 0, 9990), ('cpu_op', 'aten::mm', 8200, 1500)]
        spans += ([('python_function', f'{name}.py({10 + k}): {name}', 10 + k, 9000 - 100 * k) for k, name in enumerate(('loop', 'fit', 'run'))] +
                  [('python_function', 'main.py(9): augment', 100, 8000)] if python else
                  [('user_annotation', 'epoch_part', 10, 9000), ('user_annotation', 'augment', 100, 8000)])
        events += [{'ph': 'X', 'cat': cat, 'name': name, 'pid': 1, 'tid': 1, 'ts': at + begin, 'dur': dur, 'args': {}} for cat, name, begin, dur in spans]
    return json.dumps({'schemaVersion': 1, 'with_stack': int(python), 'traceEvents': events}).encode()


def judge_ranges(binary, check):
    """A range says where the thread is, and not that its code is the program's own; a function of Python does."""
    for python, says, advice in ((False, ' is in the range augment within epoch_part, and in nothing else that is recorded.', 'Record Python'),
                                 (True, " runs the program's own code: augment (main.py:9), called by", 'Make this code faster')):
        f = next((f for f in answer(binary, ranges(python), 'a.pt.trace.json')['findings'] if f['cause'] == 'host_code'), {'text': '', 'advice': ['']})
        check(f'a range, Python recorded: {python}', says in f['text'] and f['advice'][0].startswith(advice), f)


def summaries(between, steps=12):
    """Keras: a step of 2 ms calls its function, and a callback behind it writes `between` summaries, for 0.1 ms each."""
    host = runs.Plane(1, '/host:CPU')
    thread, at = host.line('python'), 0
    for i in range(steps):
        host.event(thread, host.meta('train'), at, 2 * MS, {'step_num': i})
        host.event(thread, host.meta('EagerLocalExecute: __inference_multi_step_on_iterator_61'), at + 10 * US, 1900 * US)
        host.event(thread, host.meta('_MklMatMul:MatMul'), at + 1700 * US, 200 * US)
        for k in range(between):
            host.event(thread, host.meta('EagerLocalExecute: WriteSummary'), at + 2 * MS + (10 + 100 * k) * US, 95 * US)
        at += 2 * MS + (20 + 100 * between) * US
    return space(host)


def judge_calls(binary, check):
    """Calls between the steps are none of a step, and callbacks of Keras run there."""
    for between in (0, 40):
        found = answer(binary, summaries(between))['findings']
        f = next((f for f in found if f['cause'] in ('dispatch', 'host_code')), {'text': ''})
        check(f'{between} calls between the steps', ': 1 per step, ' in f['text'], f)
    f = next((f for f in found if f['cause'] == 'outside_steps'), {'advice': ['']})
    check('callbacks of Keras', f['advice'][0].startswith('With Keras, callbacks run between the steps'), f)


def hooks(file, steps=8):
    """Seven of ten milliseconds pass in a function that an operation of the backward pass calls; None: Python is not recorded."""
    events = []
    for i in range(steps):
        at = 10000.0 * i
        spans = [('user_annotation', f'ProfilerStep#{i}', 0, 9990), ('cpu_op', 'aten::mm', 20, 1500),
                 ('cpu_op', 'autograd::engine::evaluate_function: torch::autograd::AccumulateGrad', 2000, 7500)]
        if file:
            spans += [('python_function', f'{file}(7): hook', 2400, 7000), ('cpu_op', 'aten::div_', 9000, 200)]
        events += [{'ph': 'X', 'cat': cat, 'name': name, 'pid': 1, 'tid': 1, 'ts': at + begin, 'dur': dur, 'args': {}} for cat, name, begin, dur in spans]
    return json.dumps({'schemaVersion': 1, 'with_stack': int(bool(file)), 'traceEvents': events}).encode()


def judge_hooks(binary, check):
    """A function of the program within an operation is no computing; one of PyTorch is the operation's."""
    for file, share in (('main.py', 0.68), ('torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py', 0), ('/tmp/torchinductor_me/ab/cab.py', 0), (None, 0)):
        found = answer(binary, hooks(file), 'a.pt.trace.json')['findings']
        f = next((f for f in found if f['cause'] == 'host_code'), {'share': 0, 'text': 'hook (main.py:7)'})
        check(f'a hook of {file}', abs(f['share'] - share) < 0.02 and 'hook (main.py:7)' in f['text'], found)
        advice = next(f for f in found if f['cause'] == 'compute')['advice']
        check(f'a hook of {file}: advice', any(a.startswith('Hooks of gradients') for a in advice) == (file is None), advice)


def collections(pauses, steps=8, explicit=False, slow=()):
    """A step of 10 ms makes objects for 6 ms of it; Python collects garbage meanwhile for `pauses` ms, in slow steps for 20 ms, and JAX's
    callback says when."""
    host = runs.Plane(1, '/host:CPU')
    thread, t = host.line('python'), 0
    for i in range(steps):
        more = 20 * MS if i in slow else 0
        host.event(thread, host.meta('train'), t, 10 * MS - 10 * US + more, {'step_num': i})
        host.event(thread, host.meta('$main.py:7 step'), t + 10 * US, 9900 * US + more)
        host.event(thread, host.meta('$main.py:9 make_objects'), t + 20 * US, 6 * MS + more)
        at = t + 100 * US
        for ms in (20,) if i in slow else pauses:
            if explicit:
                host.event(thread, host.meta('$gc collect'), at - 5 * US, ms * MS + 10 * US)
            for begin in (at, at + ms * MS):
                host.event(thread, host.meta('$__init__.py:132 _xla_gc_callback'), begin, 2 * US)
            at += ms * MS + 50 * US
        host.event(thread, host.meta('PjitFunction(update)'), t + 6100 * US + more, 90 * US)
        host.event(thread, host.meta('dot.4'), t + 6200 * US + more, 3600 * US, {'hlo_op': 'dot.4', 'hlo_module': 'jit_update', 'program_id': 7})
        t += 10 * MS + more
    return space(host)


def judge_collections(binary, check):
    """The time between two calls of JAX's callback is Python's collector's; with PyTorch it is not recorded."""
    for pauses, share in (((2, 3), 0.5), ((2,), 0.2), ((), 0)):
        found = answer(binary, collections(pauses))['findings']
        f = next((f for f in found if f['cause'] == 'gc'), {'share': 0, 'text': 'in collections that Python starts itself, mostly in make_objects (main.py:9).'})
        own = next((f['share'] for f in found if f['cause'] == 'host_code'), 0)
        check(f'collections of {pauses} ms a step', abs(f['share'] - share) < 0.01 and abs(own + share - 0.62) < 0.03 and
              f['text'].endswith('in collections that Python starts itself, mostly in make_objects (main.py:9).'), found)
    found = answer(binary, collections((4,), explicit=True))['findings']
    f = next((f for f in found if f['cause'] == 'gc'), {'text': ''})
    check('a collection that the program asks for', '(gc.collect, called by make_objects (main.py:9)).' in f['text'], f)
    found = answer(binary, collections((), steps=20, slow={3, 8, 15}))['findings']
    f = next((f for f in found if f['cause'] == 'outlier_steps'), {'text': '', 'advice': ['']})
    check('slow steps that collect', f['text'].endswith('garbage collection: automatic collection in make_objects (main.py:9).') and
          f['advice'] == [f['advice'][0]] and f['advice'][0].startswith('Collect garbage outside the steps'), f)
    unknown = answer(binary, ranges(True), 'a.pt.trace.json')['not_judged']
    check('collections of PyTorch', any(n['cause'] == 'gc' and 'does not record collections that Python starts itself' in n['why'] for n in unknown), unknown)


def judge_workers(binary, check):
    """The advice on a DataLoader that starts its workers in each step is not more of them."""
    for function, advice in (('multiprocessing/popen_fork.py(62): _launch', 'The DataLoader starts its workers within the steps'),
                             ('torch/utils/data/_utils/fetch.py(46): fetch', 'Let the DataLoader prefetch')):
        events = []
        for i in range(8):
            spans = [('user_annotation', f'ProfilerStep#{i}', 0, 9990), ('cpu_op', 'aten::mm', 8000, 1500)]
            spans += [('python_function', name, 100 + 10 * k, 7500 - 30 * k) for k, name in
                      enumerate(('main.py(9): epoch', 'torch/utils/data/dataloader.py(492): __iter__', function))]
            events += [{'ph': 'X', 'cat': cat, 'name': name, 'pid': 1, 'tid': 1, 'ts': 10000.0 * i + begin, 'dur': dur, 'args': {}}
                       for cat, name, begin, dur in spans]
        data = json.dumps({'schemaVersion': 1, 'with_stack': 1, 'traceEvents': events}).encode()
        f = next((f for f in answer(binary, data, 'a.pt.trace.json')['findings'] if f['cause'] == 'input'), {'advice': ['']})
        check(f'workers, {function}', f['advice'][0].startswith(advice), f)


def evaluates(slow, program, steps=20):
    """A step runs dot.4 of jit_step; slow ones run it once more, of another program or of the same."""
    host = runs.Plane(1, '/host:CPU')
    thread, pool, at, free = host.line('python'), host.line('tf_XLAPjRtCpuClient/1'), 0, 100 * US
    for i in range(steps):
        host.event(thread, host.meta('PjitFunction(update)'), at + 10 * US, 20 * US)
        for ms, module, number in ((4, 'jit_step', 7),) + (((40, 'jit_score', program),) if i in slow else ()):
            begin = max(free, at + 50 * US)
            host.event(pool, host.meta('dot.4'), begin, ms * MS, {'hlo_op': 'dot.4', 'hlo_module': module, 'program_id': number})
            free = begin + ms * MS + 20 * US
        end = free + 100 * US
        host.event(thread, host.meta('train'), at, end - at, {'step_num': i})
        at = end + 10 * US
    return space(host)


def judge_evaluations(binary, check):
    """An operation that slow steps run once more does not shift the steps: the numbers are those of the marks."""
    for slow in ({9, 19}, {5, 11, 17}, {3, 7, 11, 15, 19}):
        for program in (9, 7):
            o = answer(binary, evaluates(slow, program))
            f = next((f for f in o['findings'] if f['cause'] == 'outlier_steps'), {'text': ''})
            names = ', '.join(map(str, sorted(slow)[:-1])) + f' and {max(slow)}'
            check(f'evaluations in {sorted(slow)}, program {program}', f'steps {names}' in f['text'] and '44.' in f['text'], f)


# ---- the input of TensorFlow ----

def pipeline(stages, **of_root):
    """Each step waits 8 of 10 ms for stages that call each other; the last is slow. `stages`: (name, stats) from the root inwards."""
    host = runs.Plane(1, '/host:CPU')
    thread = host.line('python')
    for step in range(12):
        t = step * 10 * MS
        host.event(thread, host.meta('train'), t, 10 * MS, {'step_num': step})
        host.event(thread, host.meta('EagerLocalExecute: IteratorGetNext'), t, 8 * MS + 20 * US)
        for depth in range(len(stages) + 1):
            name = '::'.join(['Iterator::Root'] + [n.format(step) for n, _ in stages[:depth]])
            # Each input that a stage opens has an iterator of its own.
            ids = {'id': 100 * depth + (step + 1 if '[' in name else 0) + 1, **({'parent_id': 100 * (depth - 1) + 1} if depth else {})}
            host.event(thread, host.meta(name), t + depth * US, 8 * MS - 2 * depth * US, {**ids, **(stages[depth - 1][1] if depth else of_root)})
    return space(host)


def judge_pipelines(binary, check):
    fixed, tuned = {'parallelism': 2, 'autotune': 'false'}, {'parallelism': 2, 'autotune': 'true'}
    for stages, budget, says, option in (
            ([('MapAndBatch', fixed)], 8, 'Iterator::Root::MapAndBatch with num_parallel_calls=2.', 'the option of map()'),
            ([('MapAndBatch', fixed)], 2, 'Iterator::Root::MapAndBatch.', None),
            ([('MapAndBatch', tuned)], 8, 'Iterator::Root::MapAndBatch.', None),
            ([('Prefetch', {}), ('ParallelMapV2', fixed)], 8, 'ParallelMapV2 with num_parallel_calls=2.', 'where the program makes the slow stage'),
            ([('Prefetch', {}), ('Interleave[{}]', {}), ('Map', {})], 8, '::Map.', 'Give map() num_parallel_calls'),
            ([('Prefetch', {})], 8, 'Iterator::Root::Prefetch has none ready, and the recording does not show which', None)):
        o = answer(binary, pipeline(stages, cpu_budget=budget))
        f = next((f for f in o['findings'] if f['cause'] == 'input'), {'text': '', 'advice': []})
        told = [a for a in f['advice'] if 'num_parallel_calls' in a]
        check(f'input: {stages}, {budget} processors', says in f['text'] and (option in told[0] if told else not option), f)


def judge_unrecorded(binary, check):
    """What a framework's own profiler cannot record is not advised, and nothing twice."""
    for call, told in (('PjitFunction(update)', ['python_tracer_level']), ('EagerLocalExecute: MatMul', ['experimental.Trace'])):
        host = runs.Plane(1, '/host:CPU')
        thread = host.line('python')
        for i in range(12):
            host.event(thread, host.meta('train'), i * 10 * MS, 10 * MS, {'step_num': i})
            host.event(thread, host.meta(call), i * 10 * MS, MS)
        f = next((f for f in answer(binary, space(host))['findings'] if f['cause'] == 'idle'), {'advice': []})
        check(f'nothing recorded beside {call}', len(f['advice']) == len(told) and all(t in a for t, a in zip(told, f['advice'])), f)


# ---- functions compiled again ----

def compiled_again(shapes, name='jit_update', function='PjitFunction(update)', results=None):
    host, programs = runs.Plane(1, '/host:CPU'), runs.Plane(3, '/host:metadata')
    thread = host.line('python')
    for i, shape in enumerate(shapes):
        host.event(thread, host.meta('train'), i * 50 * MS, 50 * MS, {'step_num': i})
        host.event(thread, host.meta(function), i * 50 * MS + MS, 48 * MS)
        host.event(thread, host.meta('backend_compile_and_load'), i * 50 * MS + 2 * MS, 45 * MS)
        m = hlo.Module(name)
        main = m.computation('main')
        w = main.add('Arg_0.1', 'parameter', hlo.Shape('f32', (64, 64)), op_name='w', extra=[[9, 0, 0]])
        x = main.add('Arg_1.2', 'parameter', shape, op_name='x', extra=[[9, 0, 1]])
        main.add('dot.3', 'dot', results[i] if results else hlo.Shape('f32', (8, 64)), [x, w])
        programs.meta(f'{name}({2 * i + 4})', stats={'Hlo Proto': m.proto(2 * i + 4)}, number=2 * i + 4)
    return space(host, programs)


def judge_recompiled(binary, check):
    def text(data):
        return next((f['text'] for f in answer(binary, data)['findings'] if f['cause'] == 'compile'), '')
    rows = [hlo.Shape('f32', (30 + i, 64)) for i in range(5)]
    said = text(compiled_again(rows))
    check('compiled again: the shape', 'argument x from f32[33,64] to f32[34,64]' in said and 'update()' in said, said)
    said = text(compiled_again([hlo.Shape(t, (8, 64)) for t in ('f32', 'bf16', 'f32', 'bf16')]))
    check('compiled again: the type', 'argument x from f32[8,64] to bf16[8,64]' in said, said)
    said = text(compiled_again([rows[0]] * 4))
    check('compiled again: not the arguments', 'static argument' in said and 'from' not in said, said)
    said = text(compiled_again([rows[0]] * 5, results=rows))
    check('compiled again: the shape of the result', 'programs of update(): the result from f32[33,64] to f32[34,64].' in said, said)
    for name, function in (('jit_update', 'update'), ('jit__lambda', '<lambda>')):
        said = text(compiled_again([rows[0]] * 12, name=name, function=f'PjitFunction({function})'))
        check(f'compiled again: more than are compared of {function}', f'The latest 9 of the 12 programs of {function}() have' in said, said)
    said = text(compiled_again(rows, name='jit_other'))
    check('compiled again: programs of another name', 'argument' not in said and 'update()' in said, said)
    said = text(compiled_again(rows, name='jit__lambda', function='PjitFunction(<lambda>)'))
    check('compiled again: a lambda', 'argument x' in said, said)


def judge(binary, check):
    judge_recompiled(binary, check)
    judge_few_steps_of_one(binary, check)
    judge_slow_steps(binary, check)
    judge_repeated(binary, check)
    judge_workers(binary, check)
    judge_collections(binary, check)
    judge_hooks(binary, check)
    judge_calls(binary, check)
    judge_ranges(binary, check)
    judge_pipelines(binary, check)
    judge_unrecorded(binary, check)
    judge_evaluations(binary, check)
    judge_stalls(binary, check)
    judge_few_steps(binary, check)
    judge_graphs(binary, check)
    judge_missing_parts(binary, check)
    judge_covered(binary, check)
    judge_nameless(binary, check)
    judge_long_texts(binary, check)
    judge_keras(binary, check)
