"""Made-up profiles for what waits, and for whom: ends that are reported late, operations whose threads wait."""
import json
import os
import tempfile

import hlo
import runs
from made_up import MS, US, answer, ask, space


def share(found, cause):
    return next((f['share'] for f in found['findings'] if f['cause'] == cause), 0)


# ---- XLA on CPUs: the thread that finishes an operation runs what follows before it reports the end ----

def reduce_program(reduce):
    m, f32 = hlo.Module('jit_step'), hlo.Shape('f32', (64, 64))
    main = m.computation('main')
    x = main.parameter('p.1', f32)
    d = main.add('dot.4', 'dot', f32, [x, x], op_name='jit(step)/dot_general')
    main.add(reduce, 'all-reduce', f32, [d], op_name='jit(step)/reduce_sum')
    return m.proto(7)


def late_end(successor, regions=True, steps=6, reduce='all-reduce.3'):
    """dot.4 runs for 2 of 20 ms on a thread of the pool, which waits in an all-reduce for 15 ms before it reports the end of dot.4."""
    host, programs = runs.Plane(1, '/host:CPU'), runs.Plane(3, '/host:metadata')
    programs.meta('jit_step(7)', stats={'Hlo Proto': reduce_program(reduce)}, number=7)
    main, pool = host.line('python'), host.line('tf_XLAEigen/1')
    for i in range(steps):
        t, ids = i * 20 * MS, {'hlo_module': 'jit_step', 'program_id': 7, 'run_id': 1000 + i}
        host.event(main, host.meta('train'), t, 20 * MS, {'step_num': i})
        host.event(main, host.meta('PjitFunction(step)'), t + 100 * US, 200 * US)
        host.event(pool, host.meta('dot.4'), t + MS, 20 * US, {'hlo_op': 'dot.4', '_p': 2 * i + 1, **ids})
        if successor:
            host.event(pool, host.meta('ThunkExecutor::Execute'), t + 3 * MS, 15 * MS + 40 * US)
        host.event(pool, host.meta(reduce), t + 3 * MS + 10 * US, 15 * MS, {'hlo_op': reduce, '_p': 2 * i + 2, **ids})
        host.event(pool, host.meta(f'end: {reduce}'), t + 18 * MS + 20 * US, US, {'_c': 2 * i + 2})
        if not regions:  # another task: the end that follows is not that of what ran before
            host.event(pool, host.meta('ThreadpoolListener::StartRegion'), t + 18 * MS + 45 * US, 0)
        host.event(pool, host.meta('end: dot.4'), t + 18 * MS + 50 * US, US, {'_c': 2 * i + 1})
    return space(host, programs)


def dot_ms(binary, data):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, 'a.xplane.pb')
        with open(path, 'wb') as f:
            f.write(data)
        _, out, _ = ask(binary, 'tool', 'hlo_stats', path, '--format', 'json')
    table = json.loads(out)['tables'][0]
    names, times = ([table['data'][i] for i, c in enumerate(table['cols']) if c['id'] == want][0] for want in ('hlo_op_name', 'total_time'))
    return next((t / 1000 for n, t in zip(names, times) if n == 'dot.4'), 0)


def judge_late_ends(binary, check):
    found = answer(binary, late_end(successor=True))
    check('an end that is reported behind what follows: communication', 0.7 < share(found, 'collective') < 0.8, found['findings'])
    check('an end that is reported behind what follows: little computing', share(found, 'compute') < 0.15, found['findings'])
    # Some versions record that the thread runs what follows, others the operations alone.
    for successor in (True, False):
        own = dot_ms(binary, late_end(successor))
        check(f'an end that is reported behind what follows, {successor}: 2 ms a step in hlo_stats', 11 < own < 13, own)
        own = dot_ms(binary, late_end(successor, regions=False))
        check(f'an end behind another task, {successor}: lasts until then in hlo_stats', 101 < own < 104, own)


def judge_names_of_collectives(binary, check):
    """JAX calls an all-reduce psum.3: the program says what it is."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, 'a.xplane.pb')
        with open(path, 'wb') as f:
            f.write(late_end(successor=False, reduce='psum_invariant.3'))
        found = summarized(binary, path)
        check('an all-reduce by another name communicates', 0.7 < share(found, 'collective') < 0.8, found['findings'])
        rows = json.dumps(summarized(binary, path, 'collectives'))
        check('an all-reduce by another name is among the collectives', 'psum_invariant.3' in rows and 'all-reduce' in rows, rows[:400])
        _, out, _ = ask(binary, 'tools', path)
        check('the collectives are offered', any(line.startswith('collectives ') for line in out.splitlines()), out)


def judge_operation_that_waits(binary, check):
    """An operation waits for the threads that help it: it is in progress."""
    host = runs.Plane(1, '/host:CPU')
    main, pool = host.line('python'), host.line('tf_XLAPjRtCpuClient/1')
    for i in range(6):
        t = i * 10 * MS
        host.event(main, host.meta('train'), t, 10 * MS, {'step_num': i})
        host.event(main, host.meta('PjitFunction(step)'), t + 100 * US, 100 * US)
        host.event(main, host.meta('CommonPjRtBuffer::Await'), t + 300 * US, 9 * MS)
        host.event(pool, host.meta('ynn_fusion'), t + 300 * US, 9 * MS, {'hlo_op': 'ynn_fusion', 'hlo_module': 'jit_step', 'program_id': 7})
        host.event(pool, host.meta('SlinkyThreadPool::Await'), t + 2 * MS, 7 * MS)
    found = answer(binary, space(host))
    check('an operation that waits for its threads computes', share(found, 'compute') > 0.85 and not share(found, 'sync'), found['findings'])


# ---- hosts that run ahead of their devices ----

def kineto(rank=0, world=1, slower=1.0, steps=8, host='host0', only=None):
    """A rank that launches steps of 2 ms without waiting but once: kernels run a step behind their launches; the slow one (in the
    steps of `only`) meets the others late."""
    events, span = [], lambda cat, name, ts, dur, tid, args: events.append(
        {'ph': 'X', 'cat': cat, 'name': name, 'ts': ts, 'dur': dur, 'pid': 100 + rank if tid == 1 else 0, 'tid': tid, 'args': args})
    for i in range(steps):
        slow = slower if only is None or i in only else 1.0
        mark = 0 if i == 0 else 100 if i == 1 else 2000 * (i - 1)
        begin = 100 + 2000 * i
        span('user_annotation', f'ProfilerStep#{i}', mark, 90, 1, {})
        kernels = [('gemm_kernel', begin, 900 * slow, 7), ('softmax_kernel', begin + 900 * slow, 500 * slow, 7)]
        reduce = begin + 1400 * slow
        collective = {'Collective name': 'allreduce', 'In msg nelems': 1000, 'Out msg nelems': 1000, 'Group size': world, 'dtype': 'Float',
                      'Process Group Name': '0', 'Process Group Ranks': str(list(range(world))), 'Seq': i}
        kernels.append(('ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)', reduce, begin + 1990 - reduce, 7))
        for k, (name, ts, dur, stream) in enumerate(kernels):
            call = 10 * i + k + 1
            span('cuda_runtime', 'cudaLaunchKernel', mark + 20 + 5 * k, 4, 1, {'correlation': call})
            more = collective if name.startswith('nccl') else {}
            span('kernel', name, ts, dur, stream, {'correlation': call, 'stream': stream, 'device': rank % 2, **more})
    return json.dumps({'schemaVersion': 1, 'deviceProperties': [{'id': rank % 2, 'name': 'NVIDIA H100', 'totalGlobalMem': 85029158912}],
                       'distributedInfo': {'backend': 'nccl', 'rank': rank, 'world_size': world}, 'host_name': host,
                       'baseTimeNanoseconds': 1790000000000000000, 'traceEvents': events})


def summarized(binary, files, tool=None):
    """Of a path, or of the texts of files by their names."""
    if isinstance(files, str):
        status, out, err = ask(binary, *(['tool', tool] if tool else ['summary']), files, '--format', 'json')
        return json.loads(out) if status == 0 else {'error': err, 'findings': [], 'steps': {}}
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in files.items():
            with open(os.path.join(scratch, name), 'w') as f:
                f.write(text)
        return summarized(binary, scratch, tool)


def judge_ahead(binary, check):
    one = {'host0_100.1790000000000.pt.trace.json': kineto()}
    found = summarized(binary, one)
    check('kernels run behind their launches: no step is longer', not share(found, 'outlier_steps') and found['steps']['count'] == 8 and
          abs(found['steps']['mean_ps'] - 2 * MS) < 0.03 * MS, (found['steps'], found['findings']))
    ops = summarized(binary, one, 'framework_op_stats')
    check('the mark of a step is no operation', 'ProfilerStep' not in json.dumps(ops), ops)


def judge_late_ranks(binary, check):
    """Two ranks on each of four hosts: those of host1 compute longer."""
    files = {f'host{h}_{100 + r}.1790000000000.pt.trace.json': kineto(2 * h + r, 8, 1.3 if h == 1 else 1, host=f'host{h}')
             for h in range(4) for r in (0, 1)}
    found = summarized(binary, files)
    late = [f for f in found['findings'] if f['cause'] == 'straggler']
    check('two ranks of one host are late: the host is named', late and late[0]['subject'] == 'host1' and
          'Host host1 arrives last at the collective operations in 7 of 7 steps:' in late[0]['text'], found['findings'])


def judge_turns(binary, check):
    """Four hosts, each of which is late in every fourth step."""
    files = {f'host{h}_{100 + h}.1790000000000.pt.trace.json': kineto(h, 4, 1.3, 16, f'host{h}', range(h, 16, 4)) for h in range(4)}
    found = summarized(binary, files)
    said = [f['text'] for f in found['findings'] if f['cause'] == 'collective']
    check('hosts are late in turns: the waiting has its share', said and 'wait for each other' in said[0] and 'for another' in said[0] and
          not share(found, 'straggler'), found['findings'])


def judge_backlog(binary, check):
    """XLA on a CPU: 12 steps are launched in 120 ms, and the work of 12 steps of 20 ms goes on behind them."""
    host = runs.Plane(1, '/host:CPU')
    main, pool = host.line('python'), host.line('tf_XLAPjRtCpuClient/1')
    at = 0
    for i in range(12):
        host.event(main, host.meta('train'), i * 10 * MS, 10 * MS, {'step_num': i})
        host.event(main, host.meta('PjitFunction(step)'), i * 10 * MS + MS, 200 * US)
        at = max(at, i * 10 * MS + 2 * MS)
        length = 6 * MS if i < 8 else 40 * MS
        host.event(pool, host.meta('dot.4'), at, length, {'hlo_op': 'dot.4', 'hlo_module': 'jit_step', 'program_id': 7, 'run_id': i})
        at += length
    found = answer(binary, space(host))
    check('work behind the last mark is of the steps', found['steps']['count'] == 12 and
          abs(found['steps']['mean_ps'] * 12 - at) < 5 * MS, (found['steps'], at))


# ---- torch.compile ----

def compiled_in(versions, steps=8):
    """Steps of 10 ms; those of `versions`, by number, compile that version of frame 0 for 90 ms more."""
    events, at = [], 1000
    def span(cat, name, ts, dur):
        events.append({'ph': 'X', 'cat': cat, 'name': name, 'pid': 7, 'tid': 7, 'ts': ts, 'dur': dur})
    for i in range(steps):
        long = 90000 if i in versions else 0
        span('user_annotation', f'ProfilerStep#{i}', at, 10000 + long)
        if long:
            span('user_annotation', f'entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/{versions[i]}', at + 50, 1)
            span('cpu_op', '_compile.compile_inner (dynamo_timed)', at + 60, long)
            span('cpu_op', 'compile_attempt_0 (dynamo_timed)', at + 70, long - 20)
        span('cpu_op', 'aten::mm', at + 200 + long, 9500)
        at += 10000 + long
    return json.dumps({'schemaVersion': 1, 'deviceProperties': [], 'baseTimeNanoseconds': 1790000000000000000, 'traceEvents': events})


def judge_torch_compile(binary, check):
    for versions, says, warm in (({3: 0}, 'compiled frame 0 for the first time.', True), ({1: 1, 4: 2}, 'frame 0 (its last version is 2) 2 times', False)):
        found = summarized(binary, {'host0_100.1790000000000.pt.trace.json': compiled_in(versions)})
        f = next((f for f in found['findings'] if f['cause'] == 'compile'), {'text': '', 'advice': ['']})
        check(f'torch.compile: {versions}', says in f['text'] and f['advice'][0].startswith('Start recording after') == warm and
              not any('alone' in x['text'] or 'Try torch.compile' in ' '.join(x['advice']) for x in found['findings']), found['findings'])


# ---- advice that fits ----

def advised(found, cause):
    return ' '.join(' '.join(f['advice']) for f in found['findings'] if f['cause'] == cause)


def slow_step(function, extra):
    """Step 3 of 10 takes 40 ms instead of 10, in the operation of all steps, in one of its own, or in compiling."""
    host = runs.Plane(1, '/host:CPU')
    main, pool = host.line('python'), host.line('tf_XLAPjRtCpuClient/1')
    at = 0
    for i in range(10):
        length = (40 if i == 3 else 10) * MS
        host.event(main, host.meta('train'), at, length, {'step_num': i})
        host.event(main, host.meta(function), at + 100 * US, 100 * US if extra else length - 200 * US)
        if i == 3 and not extra:
            host.event(main, host.meta('backend_compile_and_load'), at + 200 * US, 30 * MS)
        name = 'sort.1' if extra == 'own' and i == 3 else 'dot.4'
        host.event(pool, host.meta('dot.4'), at + length - 9 * MS, 8 * MS, {'hlo_op': 'dot.4', 'hlo_module': 'jit_step', 'program_id': 7})
        if i == 3 and extra:
            host.event(pool, host.meta(name), at + 300 * US, 30 * MS, {'hlo_op': name, 'hlo_module': 'jit_step', 'program_id': 7})
        at += length
    return space(host)


def judge_advice(binary, check):
    for extra, word, not_this in (('same', 'All steps do this', 'extra work'), ('own', 'extra work', 'All steps'), ('', 'compiled', 'extra work')):
        said = advised(answer(binary, slow_step('PjitFunction(step)', extra)), 'outlier_steps')
        check(f'a slow step, {extra or "compiling"}: the advice', word in said and not_this not in said, said)
    for stage, words, never in (('Root::Prefetch::ParallelMapV2', ['works ahead'], ['prefetch(', 'map()', 'Python']),
                                ('Root::Map', ['prefetch(', 'map()'], ['Python']),
                                ('Root::Prefetch::Map', ['map()'], ['prefetch(', 'Python'])):
        said = advised(answer(binary, slow_input(stage)), 'input')
        check(f'{stage}: the advice', all(w in said for w in words) and not any(w in said for w in never), said)


def slow_input(stage):
    host = runs.Plane(1, '/host:CPU')
    main, pool = host.line('python'), host.line('tf_data_iterator_get_next')
    names = stage.split('::')
    for i in range(8):
        t = i * 10 * MS
        host.event(main, host.meta('train'), t, 10 * MS, {'step_num': i})
        host.event(main, host.meta('IteratorGetNext'), t + MS, 8 * MS)
        for k in range(len(names)):
            path = 'Iterator::' + '::'.join(names[:k + 1])
            stats = {'id': k + 1}
            if k:
                stats['parent_id'] = k
            host.event(pool, host.meta(path), t + MS + k * 10 * US, 8 * MS - k * 20 * US, stats)
    return space(host)


def judge(binary, check):
    judge_late_ends(binary, check)
    judge_names_of_collectives(binary, check)
    judge_operation_that_waits(binary, check)
    judge_ahead(binary, check)
    judge_torch_compile(binary, check)
    judge_late_ranks(binary, check)
    judge_turns(binary, check)
    judge_backlog(binary, check)
    judge_advice(binary, check)
