#!/usr/bin/env python3
"""Traces of PyTorch, compared with values that were computed elsewhere: by HTA, by PyTorch's plug-in and by key_averages.

    torch.py [--bin build/stepscope]

expected/*.json names a trace in tests/data/torch and blocks: tool, parameters, table, key columns, columns, rows. With `group` an
answer may have several rows of one key; they are added up (min_*, max_*: least, greatest). Whole numbers and texts are compared
exactly, times within half a nanosecond. A row that is not expected is a failure, too. Odd forms of a trace must answer as the trace
does: cut short, packed or not, without labels, with events before everything else. Random traces (random_traces.py) must answer what
reference.py reads of them.
"""
import argparse
import gzip
import json
import os
import pickle
import resource
import shutil
import subprocess
import tempfile

import random_traces
import reference

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DATA = os.path.join(ROOT, 'tests', 'data', 'torch')


def same(a, b):
    if a is None:
        return True
    if b is None or isinstance(a, str) or isinstance(b, str):
        return a == b
    if isinstance(a, (bool, int)):
        return a == b
    return abs(a - b) <= max(0.0015 if abs(a) > 1 else 1e-6, 1e-6 * max(abs(a), abs(b)))


def ask(binary, block, path):
    cmd = [binary, 'tool', block['tool'], path, '--format', 'json']
    for k, v in sorted(block.get('params', {}).items()):
        cmd += ['--param', f'{k}={v}']
    done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return None, done.stderr.decode('utf-8', 'replace').strip()
    return json.loads(done.stdout), ''


def merge(block, old, new):
    out = []
    for col, a, b in zip(block['cols'], old, new):
        out.append(min(a, b) if col.startswith('min_') else max(a, b) if col.startswith('max_') else a + b)
    return out


def rows(block, answer):
    """{key: values} of the block's table, None where there is no such table."""
    for table in answer['tables']:
        if table['name'] != block['table']:
            continue
        cols = {c['id']: d for c, d in zip(table['cols'], table['data'])}
        if any(c not in cols for c in block['key'] + block['cols']):
            return None
        found = {}
        for i in range(len(cols[block['key'][0]])):
            key = tuple(cols[k][i] for k in block['key'])
            values = [cols[c][i] for c in block['cols']]
            found[key] = merge(block, found[key], values) if key in found and block.get('group') else values
        return found
    return None


def differences(block, answer):
    found = rows(block, answer)
    if found is None:
        return ['no table with these columns']
    out = []
    nkey = len(block['key'])
    wanted = {tuple(r[:nkey]): r[nkey:] for r in block['rows']}
    for key, values in wanted.items():
        if key not in found:
            out.append(f'no row {key}')
            continue
        out += [f'{key} {c}: {a} expected, {b} got' for c, a, b in zip(block['cols'], values, found[key]) if not same(a, b)]
    return out + [f'row {key} is not expected' for key in found if key not in wanted]


def odd_forms(path, scratch):
    """The trace in other forms, each of which says the same."""
    with gzip.open(path) as f:
        trace = json.load(f)
    events = trace['traceEvents']
    metadata_last = {'traceEvents': events, **{k: v for k, v in trace.items() if k != 'traceEvents'}}
    bare = [e for e in events if e.get('ph') != 'M']
    infinite = [*events, {'ph': 'C', 'cat': 'x', 'name': 'y', 'pid': 1, 'tid': 1, 'ts': events[0].get('ts', 0), 'args': {'v': float('inf')}}]
    as_text = [{**e, 'args': {k: str(v) if k in ('External id', 'correlation') else v for k, v in e['args'].items()}} if 'args' in e else e
               for e in events]
    forms = {'metadata_last': metadata_last, 'bare_array': bare, 'inf': {**trace, 'traceEvents': infinite},
             'text_ids': {**trace, 'traceEvents': as_text}}
    for name, form in forms.items():
        at = os.path.join(scratch, name + '.json')
        with open(at, 'w') as f:
            f.write(json.dumps(form).replace('Infinity', 'inf'))
        yield name, at
    at = os.path.join(scratch, 'cut.json')
    with open(at, 'w') as f:
        f.write(json.dumps({**{k: v for k, v in trace.items() if k != 'traceEvents'}, 'traceEvents': events})[:-3])
    yield 'cut', at


BAD = '''{"schemaVersion": 1, "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":1,"ts":100,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":110,"dur":20,"args":{"External id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":140,"dur":-20,"args":{"External id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::endless","pid":1,"tid":1,"ts":150,"args":{"External id":2}},
{"ph":"X","cat":"cpu_op","name":"aten::nowhere","pid":1,"tid":1,"ts":NaN,"dur":5,"args":{"External id":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":112,"dur":5,"args":{"correlation":1,"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":122,"dur":5,"args":{"correlation":1,"External id":1}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":120,"dur":6,"args":{"correlation":1,"External id":1,"blocks per SM":inf}},
{"ph":"X","cat":"gpu_user_annotation","name":"range","pid":0,"tid":7,"ts":100,"dur":900},
{"ph":"X","cat":"kernel","name":"cut", "pid":0'''


def bad_input(binary, scratch):
    """Each fault has a sentence, and what could be read is shown. Returns what is wrong."""
    path = os.path.join(scratch, 'bad.json')
    with open(path, 'w') as f:
        f.write(BAD)
    wrong = []
    answers = {}
    for tool in ('operators', 'launches', 'gpu_breakdown'):
        answer, why = ask(binary, {'tool': tool}, path)
        answers[tool] = answer
        wrong += [] if answer else [f'{tool}: {why}']
    if wrong:
        return wrong
    said = ' '.join(n['text'] for a in answers.values() for n in a['notes'])
    for words in ('negative duration', 'no duration', 'not a number', 'truncated or damaged', 'correlation id of another call'):
        wrong += [] if words in said else [f'nothing says {words!r}: {said}']
    found = rows({'table': 'by_name', 'key': ['name'], 'cols': ['calls', 'cpu_total_us', 'device_total_us']}, answers['operators'])
    wrong += [] if found == {('aten::mm',): [2, 20, 6]} else [f'operators: {found}']
    found = rows({'table': 'devices', 'key': ['device'], 'cols': ['span_us', 'compute_us']}, answers['gpu_breakdown'])
    wrong += [] if found == {(0,): [6, 6]} else [f'devices: {found}']
    return wrong


def held(binary, scratch):
    """What a step adds, and what holds the peak, of which most was there before the recording."""
    def event(name, ts, dur, cat='cpu_op', **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'pid': 1, 'tid': 1, 'ts': ts, 'dur': dur, 'args': args}

    def memory(ts, size, address, total):
        return {'ph': 'i', 's': 't', 'cat': 'cpu_instant_event', 'name': '[memory]', 'pid': 1, 'tid': 1, 'ts': ts,
                'args': {'Bytes': size, 'Addr': address, 'Total Allocated': total, 'Total Reserved': 4096, 'Device Type': 1, 'Device Id': 0}}

    events = [event(f'ProfilerStep#{n}', 100 * n, 100, 'user_annotation') for n in (1, 2)]
    events += [event('aten::a', 110, 10, **{'External id': 1}), memory(115, 100, 1, 1100), memory(150, -100, 1, 1000),
               event('aten::b', 210, 10, **{'External id': 2}), memory(215, 300, 2, 1300), memory(216, 0, 3, 1300)]
    path = os.path.join(scratch, 'held.json')
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'profile_memory': 1, 'traceEvents': events}, f)
    answer, why = ask(binary, {'tool': 'memory_profile'}, path)
    if not answer:
        return [why]
    steps = rows({'table': 'steps', 'key': ['step'], 'cols': ['growth_bytes', 'peak_growth_bytes', 'end_bytes']}, answer)
    holders = rows({'table': 'holders', 'key': ['name'], 'cols': ['blocks', 'bytes', 'before']}, answer)
    counts = rows({'table': 'allocators', 'key': ['memory_id'], 'cols': ['allocations', 'deallocations']}, answer)
    return ([] if counts == {('CUDA:0',): [2, 1]} else [f'an event of no bytes counts: {counts}']) + ([] if steps == {(1,): [0, 100, 1000], (2,): [300, 300, 1300]} else [f'steps: {steps}']) + (
        [] if holders == {('aten::b',): [1, 300, False], ('',): [None, 1000, True]} else [f'holders: {holders}'])


def torch_xla(binary, scratch):
    """Profiles of torch_xla 2.9: of steps that ran before, and of steps of new shapes. They are its own, and so is the advice."""
    wrong = []
    for name, cause, advice in (('xla_steps', None, None), ('xla_shapes', 'compile', 'each new graph is compiled')):
        done = subprocess.run([binary, 'summary', os.path.join(DATA, name + '.xplane.pb.gz'), '--format', 'json'], stdout=subprocess.PIPE)
        answer = json.loads(done.stdout)
        first = answer['findings'][0]
        wrong += [] if answer['profile']['framework'] == 'torch-xla' else [f'{name}: {answer["profile"]}']
        wrong += [] if not cause or (first['cause'] == cause and advice in first['advice'][0]) else [f'{name}: {first}']
    return wrong


def names(binary, scratch):
    """What a kernel stands for: the operator or range around its call, never a call around the call; nccl's ranges stay apart."""
    def event(cat, name, ts, dur, pid=1, tid=1, **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur, 'args': args}

    events = [event('user_annotation', 'ProfilerStep#7', 0, 400)]
    for i, (cat, name) in enumerate((('cpu_op', 'aten::mm'), ('user_annotation', 'nccl:all_reduce'), ('user_annotation', 'nccl:all_gather'))):
        at, outer = 10 + 100 * i, 2 * i + 1
        events += [event(cat, name, at, 50), event('cuda_runtime', 'cudaLaunchKernel', at + 5, 20, correlation=outer),
                   event('cuda_driver', 'cuLaunchKernel', at + 8, 10, correlation=outer + 1),
                   event('kernel', f'k{i}', at + 30, 20, 0, 7, device=0, stream=7, correlation=outer + 1)]
    path = os.path.join(scratch, 'names.json')
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
    done = subprocess.run([binary, 'summary', path], stdout=subprocess.PIPE)
    said = done.stdout.decode()
    wrong = [f'{w} is missing: {said}' for w in ('aten::mm', 'nccl:all_reduce', 'nccl:all_gather', 'marked by the program') if w not in said]
    wrong += [f'a call is an operation: {said}'] if 'cudaLaunchKernel' in said else []
    kernel = 'void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)'
    with open(path, 'w') as f:    # no operator: it is PyTorch's all the same, and so is the advice
        json.dump({'schemaVersion': 1, 'traceEvents': [event('kernel', kernel, 100 * i, 90, 0, 7, device=0, stream=7) for i in range(9)]}, f)
    done = subprocess.run([binary, 'summary', path], stdout=subprocess.PIPE)
    said = done.stdout.decode()
    return wrong + ([] if "step() of a torch.profiler" in said and 'Keras' not in said else [f'advice is not of PyTorch: {said}'])


def waits_for_input(binary, scratch):
    """A step is 60 of 100 ms shorter without its input: the copy begins within its call, and the backward pass is launched by a thread of its own."""
    def event(cat, name, ts, dur, pid=1, tid=1, **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur, 'args': args}

    events, correlation = [], 0
    for i in range(6):
        t = 100000 * i
        events += [event('user_annotation', f'ProfilerStep#{i + 3}', t, 99990),
                   event('user_annotation', 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', t + 10, 60000)]
        for tid, call, at, dur, kind, name, begin, lasts in (
                (1, 'cudaMemcpyAsync', 60100, 2000, 'gpu_memcpy', 'Memcpy HtoD (Pageable -> Device)', 60200, 1800),
                (1, 'cudaLaunchKernel', 62200, 10, 'kernel', 'forward_kernel', 62300, 200), (2, 'cudaEventRecord', 63000, 5, None, '', 0, 0),
                (2, 'cudaLaunchKernel', 63100, 10, 'kernel', 'backward_kernel', 63130, 33000),
                (1, 'cudaLaunchKernel', 64000, 10, 'kernel', 'update_kernel', 96131, 3000)):
            correlation += 1
            events.append(event('cuda_runtime', call, t + at, dur, tid=tid, correlation=correlation))
            if kind:
                events.append(event(kind, name, t + begin, lasts, 0, 7, device=0, stream=7, correlation=correlation))
    path = os.path.join(scratch, 'waits_for_input.json')
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
    answer, why = ask(binary, {'tool': 'what_if'}, path)
    if not answer:
        return [why]
    found = rows({'table': 'scenarios', 'key': ['scenario'], 'cols': ['step_now_us', 'step_us']}, answer)
    now, then = found.get(('perfect_input',), [0, 0])
    wrong = [] if abs(now - 100000) < 10 and 39000 < then < 41000 else [f'what_if: {found}']
    answer, why = ask(binary, {'tool': 'critical_path'}, path)
    if not answer:
        return [*wrong, why]
    found = rows({'table': 'categories', 'key': ['step_num', 'category'], 'cols': ['path_us']}, answer)
    on_path = [v for (step, category), (v,) in found.items() if category == 'input']
    return wrong + ([] if len(on_path) >= 4 and all(59000 < v < 61000 for v in on_path) else [f'critical_path: {found}'])


def waits_for_collectives(binary, scratch):
    """What was launched before a collective's end and begins 3 us after it on a free stream has waited for it: 5 of 10 ms are its own."""
    def event(cat, name, ts, dur, pid=1, tid=1, **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur, 'args': args}

    comm = {'Collective name': 'allreduce', 'In msg nelems': 4096, 'Out msg nelems': 4096, 'Group size': 8, 'dtype': 'Float', 'Process Group Name': '0'}
    events, correlation = [], 0
    for i in range(6):    # the host is far ahead of the device
        events.append(event('user_annotation', f'ProfilerStep#{i}', 1000 * i, 990))
        for name, stream, begin, lasts, args in (('forward_kernel', 7, 200, 3000, {}), ('ncclDevKernel_AllReduce_Sum_f32_RING_LL', 20, 3201, 5000, comm), ('update_kernel', 7, 8204, 1990, {})):
            correlation += 1
            events += [event('cuda_runtime', 'cudaLaunchKernel', 1000 * i + 20 * correlation % 900, 9, correlation=correlation),
                       event('kernel', name, 20000 + 10000 * i + begin, lasts, 0, stream, device=0, stream=stream, correlation=correlation, **args)]
    path = os.path.join(scratch, 'waits_for_collectives.json')
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'distributedInfo': {'backend': 'nccl', 'rank': 0, 'world_size': 8}, 'traceEvents': events}, f)
    answer, why = ask(binary, {'tool': 'what_if'}, path)
    if not answer:
        return [why]
    found = rows({'table': 'scenarios', 'key': ['scenario'], 'cols': ['step_now_us', 'step_us']}, answer)
    now, then = found.get(('free_communication',), [0, 0])
    return [] if abs(now - 10000) < 10 and 4900 < then < 5100 else [f'what_if: {found}']


def waits_in_a_copy(binary, scratch):
    """loss.item(): the call that copies lasts until the kernel before the copy is done, so its 8 ms are the kernel's and not the host's."""
    def event(cat, name, ts, dur, pid=1, tid=1, **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur, 'args': args}

    events = []
    for i in range(6):
        t = 10000 * i
        events += [event('user_annotation', f'ProfilerStep#{i}', t, 9990), event('cuda_runtime', 'cudaLaunchKernel', t + 900, 10, correlation=2 * i + 1),
                   event('cuda_runtime', 'cudaMemcpyAsync', t + 920, 8070, correlation=2 * i + 2),
                   event('kernel', 'big_kernel', t + 930, 8000, 0, 7, device=0, stream=7, correlation=2 * i + 1),
                   event('gpu_memcpy', 'Memcpy DtoH (Device -> Pageable)', t + 8940, 30, 0, 7, device=0, stream=7, correlation=2 * i + 2)]
    path = os.path.join(scratch, 'waits_in_a_copy.json')
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
    wrong = []
    answer, why = ask(binary, {'tool': 'what_if'}, path)
    found = rows({'table': 'scenarios', 'key': ['scenario'], 'cols': ['step_now_us', 'step_us']}, answer) if answer else {}
    now, then = found.get(('op_twice_as_fast',), [0, 0])
    wrong += [] if abs(now - 10000) < 10 and 5900 < then < 6100 else [f'what_if: {why} {found}']
    answer, why = ask(binary, {'tool': 'critical_path'}, path)
    found = rows({'table': 'categories', 'key': ['step_num', 'category'], 'cols': ['path_us']}, answer) if answer else {}
    on_path = [v for (step, category), (v,) in found.items() if category == 'compute']
    return wrong + ([] if len(on_path) >= 4 and all(7900 < v < 8100 for v in on_path) else [f'critical_path: {why} {found}'])


def random_forms(binary, scratch, seeds=(*range(12), 152)):
    """Random traces in the forms of several versions and makers say what a slow and plain reading says; 152: the first step starts nothing."""
    wrong = []
    for seed in seeds:
        what, trace = random_traces.make(seed)
        path = os.path.join(scratch, f'random{seed}.json')
        with open(path, 'w') as f:
            json.dump(trace, f)
        answers = {}
        for block in reference.Trace(path).blocks():
            asked = (block['tool'], str(block.get('params')))
            if asked not in answers:
                answers[asked] = ask(binary, block, path)
            answer, why = answers[asked]
            found = differences(block, answer) if answer else [why]
            wrong += [f'seed {seed} ({what}): {block["tool"]} {block["table"]}: {line}' for line in found[:3]]
    return wrong


def clocks(binary, scratch):
    """Times in nanoseconds among microseconds: they are told and left out, the others stay where they are."""
    path = os.path.join(scratch, 'clocks.json')
    op = {'ph': 'X', 'cat': 'cpu_op', 'pid': 1, 'tid': 1, 'dur': 20}
    events = [{**op, 'name': 'aten::mm', 'ts': 1700000000000000 + 50 * i, 'args': {'External id': i + 1}} for i in range(9)]
    events += [{**op, 'name': 'aten::far', 'ts': 1700000000000000000 + i} for i in range(2)]
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
    answer, why = ask(binary, {'tool': 'operators'}, path)
    if not answer:
        return [why]
    said = ' '.join(n['text'] for n in answer['notes'])
    found = rows({'table': 'by_name', 'key': ['name'], 'cols': ['calls', 'cpu_total_us']}, answer)
    return ([] if 'cannot be microseconds' in said and '2 events' in said else [f'notes: {said}']) + (
        [] if found == {('aten::mm',): [9, 180]} else [f'operators: {found}'])


def long_text(binary, scratch):
    """A text longer than a value can be, alone and packed: it is passed over, and what stands around it is shown."""
    wrong = []
    op = '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%d,"dur":5,"args":{"External id":1}}'
    text = '{"schemaVersion":1,"traceEvents":[' + ','.join((op % ('aten::a', 10), op % ('x' * (40 << 20), 20), op % ('aten::b', 30))) + ']}'
    for name, opened in (('long.json', open), ('long.json.gz', gzip.open)):
        path = os.path.join(scratch, name)
        with opened(path, 'wt') as f:
            f.write(text)
        answer, why = ask(binary, {'tool': 'operators'}, path)
        found = rows({'table': 'by_name', 'key': ['name'], 'cols': ['calls']}, answer) if answer else why
        said = ' '.join(n['text'] for n in answer['notes']) if answer else ''
        wrong += [] if found == {('aten::a',): [1], ('aten::b',): [1]} and 'longer than 16 MiB' in said else [f'{name}: {found} {said}']
    return wrong


def memory_of_operators(binary, scratch):
    """Bytes of key_averages(): an operator's own, and with the operators below; a device's apart; no columns where none was recorded."""
    def op(name, ts, dur, number):
        return {'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': 1, 'tid': 1, 'ts': ts, 'dur': dur, 'args': {'External id': number}}

    def memory(ts, size, kind):
        return {'ph': 'i', 'cat': 'cpu_instant_event', 's': 't', 'name': '[memory]', 'pid': 1, 'tid': 1, 'ts': ts,
                'args': {'Bytes': size, 'Addr': ts, 'Device Type': kind, 'Device Id': 0 if kind else -1, 'Total Allocated': 1 << 20, 'Total Reserved': 1 << 20}}
    ops = [op('aten::linear', 10, 40, 1), op('aten::mm', 20, 20, 2), op('aten::linear', 60, 20, 3)]
    events = [memory(15, 100, 0), memory(25, 1000, 0), memory(30, -300, 0), memory(65, -50, 0), memory(90, 7, 0)]
    on_gpu = [memory(27, 4096, 1), memory(70, 512, 1)]
    cols = ['cpu_memory_bytes', 'cpu_memory_self_bytes', 'device_memory_bytes', 'device_memory_self_bytes']
    wrong = []
    for label, more, have, expected in (('cpu', events, 2, {('aten::linear',): [750, 50], ('aten::mm',): [700, 700]}),
                                        ('gpu', events + on_gpu, 4, {('aten::linear',): [750, 50, 4608, 512], ('aten::mm',): [700, 700, 4096, 4096]}),
                                        ('none', [], 0, {('aten::linear',): [], ('aten::mm',): []})):
        path = os.path.join(scratch, f'memory_{label}.json')
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'traceEvents': ops + more}, f)
        answer, why = ask(binary, {'tool': 'operators'}, path)
        there = [c['id'] for c in answer['tables'][0]['cols'] if 'memory' in c['id']] if answer else why
        found = rows({'table': 'by_name', 'key': ['name'], 'cols': cols[:have]}, answer) if answer else None
        wrong += [] if there == cols[:have] and found == expected else [f'{label}: {there} {found}']
    return wrong


def profiler_itself(binary, scratch):
    """What torch.profiler does between steps is not the program's work; what PyTorch does around operators is no code of the program."""
    def event(cat, name, ts, dur, **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'pid': 1, 'tid': 1, 'ts': ts, 'dur': dur, 'args': args}

    def trace(path, frame):
        events = []
        for i in range(8):
            at = 1000 + 100000 * i
            events += [event('user_annotation', f'ProfilerStep#{i}', at, 90000),
                       event('python_function', 'train.py(3): <module>', at, 99000, **{'Python id': 3 * i + 1}),
                       event('cpu_op', 'aten::mm', at + 10, 30000, **{'External id': i + 1}),
                       event('python_function', frame, at + 31000, 50000, **{'Python id': 3 * i + 2, 'Python parent id': 3 * i + 1})]
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'with_stack': 1, 'traceEvents': events}, f)
        done = subprocess.run([binary, 'summary', path, '--format', 'json'], stdout=subprocess.PIPE)
        return {x['cause']: x['text'] for x in json.loads(done.stdout)['findings']}
    path, wrong = os.path.join(scratch, 'profiler.json'), []
    own = trace(path, 'train.py(9): augment')
    wrong += [] if 'augment' in own.get('host_code', '') else [f'the program: {own}']
    its = trace(path, 'torch/profiler/profiler.py(1520): step')
    wrong += [] if not any('profiler.py' in t for t in its.values()) else [f'the profiler: {its}']
    framework = trace(path, 'torch/cuda/__init__.py(222): is_available')
    wrong += [] if 'host_code' not in framework or 'is_available' not in framework['host_code'] else [f'PyTorch: {framework}']
    return wrong


def words_of_pytorch(binary, scratch):
    """No advice names what another framework has."""
    others = ('jax', 'jit', 'tf.', 'tensorflow', 'keras', 'xla', 'tf_gpu', 'pjit', 'lax.')
    wrong, seen = [], 0
    for name in sorted(os.listdir(DATA)):
        if '.json' not in name:
            continue
        done = subprocess.run([binary, 'summary', os.path.join(DATA, name), '--format', 'json'], stdout=subprocess.PIPE)
        for finding in json.loads(done.stdout)['findings'] if done.returncode == 0 else []:
            for advice in finding.get('advice', []):
                seen += 1
                wrong += [f'{name}: {advice}'] if any(w in advice.lower() for w in others) else []
    return wrong + ([] if seen >= 8 else [f'{seen} sentences'])


def same_ids(binary, scratch):
    """Operators of one External id: what ran belongs to the one around its call. NaN and Infinity are told and left out."""
    path = os.path.join(scratch, 'ids.json')
    line = '{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%s,"dur":%s,"args":{"External id":5%s}}'
    events = [line % ('cpu_op', 'aten::mm', 1, 1, 10, 20, ''), line % ('cpu_op', 'aten::add', 1, 1, 40, 20, '')]
    events += [line % ('cuda_runtime', 'cudaLaunchKernel', 1, 1, ts, 3, f',"correlation":{c}') for ts, c in ((12, 1), (42, 2))]
    events += [line % ('kernel', 'k', 0, 7, ts, dur, f',"correlation":{c},"device":0,"stream":7')
               for ts, dur, c in ((20, 5, 1), (50, 6, 2), (70, 'Infinity', 1), ('NaN', 4, 2), ('-Infinity', 4, 2))]
    with open(path, 'w') as f:
        f.write('{"schemaVersion":1,"traceEvents":[' + ',\n'.join(events) + ']}')
    answer, why = ask(binary, {'tool': 'operators'}, path)
    if not answer:
        return [why]
    said = ' '.join(n['text'] for n in answer['notes'])
    found = rows({'table': 'by_name', 'key': ['name'], 'cols': ['calls', 'device_total_us']}, answer)
    return ([] if '3 events have a time or a duration that is not a number' in said else [said]) + (
        [] if found == {('aten::mm',): [1, 5], ('aten::add',): [1, 6]} else [f'operators: {found}'])


def recording_itself(binary, scratch):
    """The span of the recording, which the profiler writes on a line of its own, is no time that the program spent."""
    events = [{'ph': 'X', 'cat': 'Trace', 'name': 'PyTorch Profiler (0)', 'pid': 'Spans', 'tid': 'PyTorch Profiler', 'ts': 0, 'dur': 900},
              {'ph': 'i', 's': 'g', 'name': 'Iteration Start: PyTorch Profiler', 'pid': 'Traces', 'tid': 'Trace PyTorch Profiler', 'ts': 0},
              {'ph': 'i', 's': 'g', 'name': 'Record Window End', 'pid': '', 'tid': '', 'ts': 900},
              {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': 10, 'dur': 40, 'args': {'External id': 1}}]
    path = os.path.join(scratch, 'recording.json')
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
    answer, why = ask(binary, {'tool': 'flame_graph'}, path)
    if not answer:
        return [why]
    said = json.dumps(answer)
    return [] if 'aten::mm' in said and 'PyTorch Profiler' not in said and 'Record Window' not in said else [said]


def empty_recording(binary, scratch):
    """What is exported behind the last step of a cycle holds the begin of the next one: PyTorch's profiler wrote it, and why it is empty is said."""
    span = {'ph': 'X', 'cat': 'Trace', 'name': 'PyTorch Profiler (0)', 'pid': 'Spans', 'tid': 'PyTorch Profiler', 'ts': 0, 'dur': 170}
    step = {'ph': 'X', 'cat': 'user_annotation', 'name': 'ProfilerStep#4', 'pid': 1, 'tid': 1, 'ts': 5, 'dur': 60, 'args': {'External id': 8193, 'Ev Idx': 0}}
    op = {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': 9, 'dur': 20, 'args': {'External id': 1, 'Ev Idx': 1}}
    path, wrong = os.path.join(scratch, 'empty.json'), []
    for events, empty in (([], True), ([span], True), ([span, step], True), ([span, step, op], False), ([span, op], False)):
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'deviceProperties': [], 'traceEvents': events}, f)
        said = ''
        for asked in (['summary', path], ['tool', 'operators', path], ['tool', 'memory_profile', path], ['tool', 'step_breakdown', path]):
            done = subprocess.run([binary] + asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said += done.stdout.decode()
            wrong += [f'status {done.returncode}: {asked}'] if done.returncode else []
        wrong += [] if ('write the trace in on_trace_ready' in said) == empty else [f'{len(events)} events: {said}']
        wrong += [] if ('give torch.profiler a schedule' in said) == (events == [span, op]) else [f'unmarked: {said}']
        wrong += [] if ('whole step' in said) == (step in events) else [f'whole: {said}']
        wrong += [f'{len(events)} events: {w}: {said}' for w in ("not a trace of PyTorch", 'activities=', 'host tracer level', '0 ms pass') if w in said]
    return wrong


def missing_rank(binary, of):
    """Two ranks of a job of three: nobody can tell what is waiting for the third."""
    folder = of + '_of_three'
    os.makedirs(folder)
    for name in sorted(os.listdir(of)):
        with open(os.path.join(of, name)) as f, open(os.path.join(folder, name), 'w') as to:
            trace = json.load(f)
            trace['distributedInfo']['world_size'] = 3
            json.dump(trace, to)
    def said(path):
        done = subprocess.run([binary, 'summary', path], capture_output=True, text=True)
        return done.stdout + done.stderr
    whole, less = said(of), said(folder)
    return [] if '1 of 3 ranks is not in the recording' in less and 'cannot be told apart' in less and \
        'not in the recording' not in whole and 'cannot be told apart' not in whole else [whole, less]


def ranks_of_unknown_hosts(binary, scratch):
    """Two ranks of four, of one name: how many of the others ran on a host is not known, so no host is said to be missing."""
    folder = os.path.join(scratch, 'two_of_four')
    os.makedirs(folder)
    for rank in (0, 1):
        shutil.copy(os.path.join(DATA, 'ranks', f'rank-{rank}.json.gz'), os.path.join(folder, f'job_rank-{rank}.json.gz'))
    said = subprocess.run([binary, 'summary', folder], capture_output=True, text=True).stdout
    answer, why = ask(binary, {'tool': 'host_steps'}, folder)
    noted = ' '.join(n['text'] for n in answer['notes']) if answer else why
    return [] if '2 of 4 ranks are not in the recording' in said and '(host ' not in said + json.dumps(answer) and \
        '2 of 4 ranks have no recording here' in noted else [said, noted]


def gloo_ranks(binary, scratch):
    """Collectives of CPUs are none of devices: no sentence denies them, and the tool that compares them is named."""
    folder = os.path.join(scratch, 'gloo')
    os.makedirs(folder)
    for rank in range(2):
        events = []
        for i in range(6):
            at = 1000 + 10000 * i
            args = {'External id': 7 * i + 1, 'Input Dims': [[1024]], 'Input type': ['float']}
            events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{i}', 'pid': 1, 'tid': 1, 'ts': at, 'dur': 9000},
                       {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': at + 10, 'dur': 3000 + 2000 * rank, 'args': {'External id': 7 * i}},
                       {'ph': 'X', 'cat': 'user_annotation', 'name': 'gloo:all_reduce', 'pid': 1, 'tid': 2, 'ts': at + 3020 + 2000 * rank, 'dur': 3000 - 2000 * rank, 'args': args}]
        with open(os.path.join(folder, f'rank-{rank}.json'), 'w') as f:
            json.dump({'schemaVersion': 1, 'distributedInfo': {'backend': 'gloo', 'rank': rank, 'world_size': 2}, 'traceEvents': events}, f)
    wrong = missing_rank(binary, folder) + ranks_of_unknown_hosts(binary, scratch)
    for tool in ('collectives', 'stragglers'):
        answer, why = ask(binary, {'tool': tool}, folder)
        said = ' '.join(n['text'] for n in answer['notes']) if answer else why
        wrong += [] if "'distributed' compares" in said and 'whole recording' not in said else [f'{tool}: {said}']
    one, why = ask(binary, {'tool': 'collectives'}, os.path.join(folder, 'rank-0.json'))
    found = rows({'table': 'by_shape', 'key': ['collective'], 'cols': ['calls']}, one) if one else why
    wrong += [] if found == {('allreduce',): [6]} and not one['notes'] else [f'one rank: {found} {one and one["notes"]}']
    ranks, why = ask(binary, {'tool': 'distributed'}, folder)
    said = json.dumps(ranks) if ranks else why
    return wrong + ([] if 'rank 0 waits longest' in said and 'the others wait for it' in said else [said])


def ranks_late_in_turn(binary, scratch):
    """Where each rank waits for the other by turns, none is named as the one that the others wait for."""
    folder = os.path.join(scratch, 'in_turn')
    os.makedirs(folder)
    for rank in range(2):
        events = []
        for i in range(6):
            at, late = 1000 + 10000 * i, 2000 * (i % 2 == rank)
            args = {'External id': 7 * i + 1, 'Input Dims': [[1024]], 'Input type': ['float']}
            events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{i}', 'pid': 1, 'tid': 1, 'ts': at, 'dur': 9000},
                       {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': at + 10, 'dur': 3000 + late, 'args': {'External id': 7 * i}},
                       {'ph': 'X', 'cat': 'user_annotation', 'name': 'gloo:all_reduce', 'pid': 1, 'tid': 2, 'ts': at + 3020 + late, 'dur': 3000 - late, 'args': args}]
        with open(os.path.join(folder, f'rank-{rank}.json'), 'w') as f:
            json.dump({'schemaVersion': 1, 'distributedInfo': {'backend': 'gloo', 'rank': rank, 'world_size': 2}, 'traceEvents': events}, f)
    ranks, why = ask(binary, {'tool': 'distributed'}, folder)
    said = json.dumps(ranks['conclusion']) if ranks else why
    return [] if 'waits longest' in said and 'the others wait for it' not in said else [said]


def devices_of_a_snapshot(binary, scratch):
    """Of several devices, the sentences name the one that they are about."""
    sample, path = os.path.join(HERE, '..', 'data', 'memory', 'torch_snapshot', 'run', 'rank1.pickle'), os.path.join(scratch, 'two.pickle')
    with open(sample, 'rb') as f:
        snapshot = pickle.load(f)
    snapshot['device_traces'][0] = snapshot['device_traces'][1][:2]
    with open(path, 'wb') as f:
        pickle.dump(snapshot, f, protocol=4)
    wrong = []
    for of, name in ((sample, ''), (path, ' on device 1')):
        answer, why = ask(binary, {'tool': 'memory_snapshot'}, of)
        said = ' '.join([answer['conclusion']['text'], *answer['conclusion']['more']]) if answer else why
        for begin in (f'Memory ran out{name}: ', f'Peak use{name} was ', f"of the device's memory{name} and"):
            wrong += [] if begin in said else [f'{begin} is not in: {said}']
    return wrong


def gloo_late_rank(binary, scratch):
    """A rank that sleeps before each collective is named, whatever the operators take that start collectives; but not where the job has
    several process groups, of which gloo's events name none. One that is late in two steps of eight is said to be late in these."""
    def record(folder, groups, late_in=range(8)):
        os.makedirs(folder)
        for rank in range(3):
            events = []
            for i in range(8):
                begin, late = 10000 * i, 6000 if rank == 1 and i in late_in else 20 * rank
                events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{i}', 'pid': 1, 'tid': 1, 'ts': begin, 'dur': 9000},
                           {'ph': 'X', 'cat': 'cpu_op', 'name': 'c10d::allreduce_', 'pid': 1, 'tid': 1, 'ts': begin + late, 'dur': 30 + 20 * ((rank + i) % 3)},
                           {'ph': 'X', 'cat': 'user_annotation', 'name': 'gloo:all_reduce', 'pid': 1, 'tid': 2, 'ts': begin + late + 5, 'dur': 8000 - late}]
            job = {'backend': 'gloo', 'rank': rank, 'world_size': 3, 'pg_count': groups}
            with open(os.path.join(folder, f'rank-{rank}.json'), 'w') as f:
                json.dump({'schemaVersion': 1, 'host_name': 'vm', 'distributedInfo': job, 'traceEvents': events}, f)
        done = subprocess.run([binary, 'summary', folder], capture_output=True, text=True)
        ranks, why = ask(binary, {'tool': 'distributed'}, folder)
        waiting = rows({'table': 'waiting', 'key': ['rank'], 'cols': ['calls', 'wait_us']}, ranks) if ranks else why
        return done.stdout + done.stderr, json.dumps(ranks), waiting
    said, answer, waiting = record(os.path.join(scratch, 'gloo_late'), 1)
    wrong = [] if 'rank-1 arrives last at all 8 collective operations' in said and 'no single one is late' not in said else [said]
    wrong += [] if 'This holds for 1 of 3 processes.' in said and ' of 3 hosts' not in said else [said]
    wrong += [] if 'Rank 1 waits least' in answer and waiting.get((1,), [0])[0] == 8 else [f'one group: {waiting} {answer}']
    said, _, _ = record(os.path.join(scratch, 'gloo_late_twice'), 1, (2, 6))
    wrong += [] if 'rank-1 arrives last at 2 of 8 collective operations' in said else [said]
    said, answer, waiting = record(os.path.join(scratch, 'gloo_groups'), 3)
    wrong += [] if 'arrives last' not in said and 'which operations of different participants belong together' in said else [said]
    wrong += [] if all(waiting.get((r,)) == [0, None] for r in range(3)) else [f'three groups: {waiting}']
    return wrong + ([] if '24 collectives of gloo are not compared' in answer and 'waits longest' not in answer else [answer])


def repeated_steps(binary, scratch):
    """A job that restarts at step 12 within the recording marks 12 to 14 again: 10 steps, each as long as it was."""
    path = os.path.join(scratch, 'repeated.json')
    events = []
    for i in range(10):
        num = 10 + i if i < 5 else 7 + i
        events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{num}', 'pid': 1, 'tid': 1, 'ts': 10000 * i, 'dur': 9000},
                   {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': 10000 * i + 100, 'dur': 8000}]
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
    answer, why = ask(binary, {'tool': 'step_breakdown'}, path)
    steps = next((t for t in answer['tables'] if t['name'] == 'steps'), None) if answer else None
    if not steps:
        return [f'{why} {answer and [t["name"] for t in answer["tables"]]}']
    nums = dict(zip((c['id'] for c in steps['cols']), steps['data']))
    wrong = [] if nums['step'] == [10, 11, 12, 13, 14, 12, 13, 14, 15, 16] else [f'steps: {nums["step"]}']
    done = subprocess.run([binary, 'runs', '--steps', path], capture_output=True, text=True)
    return wrong + ([] if '10 steps' in done.stdout else [done.stdout + done.stderr])


def repeated_over_ranks(binary, scratch):
    """Steps of GPUs are those of their marks: a number that comes again is another step on all ranks; one that a second thread marks later is
    the same."""
    def record(name, nums, second):
        folder = os.path.join(scratch, name)
        os.makedirs(folder)
        for rank in range(2):
            events = []
            for i, num in enumerate(nums):
                at, late = 10000 * i, 3000 * rank
                comm = {'Collective name': 'allreduce', 'In msg nelems': 64, 'Out msg nelems': 64, 'Group size': 2, 'dtype': 'Float', 'Process Group Name': '0', 'Process Group Ranks': '[0, 1]'}
                events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{num}', 'pid': 1, 'tid': 1, 'ts': at, 'dur': 9900}]
                events += [{'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 1, 'ts': at + 10 + 20 * k, 'dur': 9, 'args': {'correlation': 2 * i + k + 1}} for k in range(2)]
                events += [{'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': rank, 'tid': 7, 'ts': at + 100, 'dur': 5000 + late, 'args': {'device': rank, 'stream': 7, 'correlation': 2 * i + 1}},
                           {'ph': 'X', 'cat': 'kernel', 'name': 'ncclDevKernel_AllReduce_Sum_f32_RING_LL', 'pid': rank, 'tid': 8, 'ts': at + 5100 + late, 'dur': 4000 - late,
                            'args': {'device': rank, 'stream': 8, 'correlation': 2 * i + 2, **comm}}]
                if second:    # marks the step, too, when the first thread is three steps further
                    events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{num}', 'pid': 1, 'tid': 2, 'ts': at + 35000, 'dur': 9}]
            with open(os.path.join(folder, f'rank-{rank}.json'), 'w') as f:
                json.dump({'schemaVersion': 1, 'distributedInfo': {'backend': 'nccl', 'rank': rank, 'world_size': 2}, 'traceEvents': events}, f)
        return folder
    wrong = []
    folder = record('repeats', [10, 11, 12, 13, 14, 12, 13, 14, 15, 16], False)
    answer, why = ask(binary, {'tool': 'host_steps'}, folder)
    found = rows({'table': 'matrix', 'key': ['host', 'round', 'step_num'], 'cols': ['step_us']}, answer) if answer else why
    expected = {(f'rank-{r}', n >= 5, n + (7 if n >= 5 else 10)) for r in range(2) for n in range(10)}
    wrong += [] if found and set(found) == expected and all(8000 < v[0] < 10100 for v in found.values()) else [f'steps: {found} {answer and answer["notes"]}']
    wrong += [] if any('steps 12 to 14 ran twice' in n['text'] for n in answer['notes']) else [str(answer['notes'])]
    answer, why = ask(binary, {'tool': 'collectives'}, folder)
    found = rows({'table': 'collectives', 'key': ['round', 'step_num'], 'cols': ['participants', 'last_host']}, answer) if answer else why
    wrong += [] if found and len(found) == 10 and all(v == [2, 'rank-1'] for v in found.values()) else [f'collectives: {found}']
    answer, why = ask(binary, {'tool': 'host_steps'}, record('second_thread', range(10), True))
    wrong += [] if answer and not any('repeat' in n['text'] for n in answer['notes']) and len(answer['tables'][0]['cols']) == 3 else [f'two threads: {answer and answer["notes"]}']
    return wrong


def same_figures(binary, scratch):
    """What step_breakdown and distributed say of the same step of a rank is the same, with devices and without."""
    folders = {'gloo': os.path.join(scratch, 'gloo')}    # of gloo_ranks
    for seed in (0, 3, 5, 8):
        folders[f'seed {seed}'] = folder = os.path.join(scratch, f'figures{seed}')
        os.makedirs(folder)
        with open(os.path.join(folder, 'rank-0.json'), 'w') as f:
            json.dump(random_traces.make(seed)[1], f)
    wrong, compared = [], {True: 0, False: 0}
    for label, folder in folders.items():
        ranks, why = ask(binary, {'tool': 'distributed'}, folder)
        found = rows({'table': 'ranks', 'key': ['host'], 'cols': ['computation_us', 'overlap_us', 'communication_us', 'other_us']}, ranks) if ranks else {}
        wrong += [] if found else [f'{label}: {why}']
        for (host,), (computation, overlap, communication, other) in found.items():
            answer, why = ask(binary, {'tool': 'step_breakdown', 'params': {'extent': 'device'}}, os.path.join(folder, host + '.json'))
            if not answer:
                wrong.append(f'{label} {host}: {why}')
                continue
            by = {k[0]: v[0] for k, v in rows({'table': 'average', 'key': ['category'], 'cols': ['time_us']}, answer).items()}
            title = next(c['label'] for c in answer['tables'][0]['cols'] if c['id'] == 'communication_us')
            devices = by['kernel'] + by['memcpy'] + by['memset'] > 0
            compared[devices] += 1
            copies = by['memcpy'] + by['memset']
            if devices:    # copies hide communication in step_breakdown and do not in distributed
                pairs = [('kernels', by['kernel'], computation + overlap)]
                wrong += [] if -0.01 <= communication - by['communication'] <= copies + 0.01 else [f'{label} {host}: exposed {by["communication"]}, {communication}']
            else:
                pairs = [('communication', by['communication'], overlap + communication), ('operators', by['cpu_op'], computation), ('rest', by['other'], other)]
            pairs.append(('step', sum(by.values()), computation + overlap + communication + other))
            wrong += [f'{label} {host}: {what}: {a}, {b}' for what, a, b in pairs if abs(a - b) > 0.01]
            wrong += [] if title == ('Exposed communication' if devices else 'Communication') else [f'{label} {host}: {title}']
    return wrong + ([] if compared[True] >= 3 and compared[False] >= 2 else [f'compared: {compared}'])


def many_devices(binary, scratch):
    """Each device costs as much as the threads' events: of a file that tells of thousands the first ones are judged, and that is said."""
    def trace(devices):
        events = []
        for i in range(devices):
            at = 1000 + 10 * i
            events += [{'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': i, 'tid': 7, 'ts': at, 'dur': 8, 'args': {'device': i, 'stream': 7, 'correlation': i + 1}},
                       {'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 90000, 'tid': 1, 'ts': at - 5, 'dur': 4, 'args': {'correlation': i + 1}}]
        path = os.path.join(scratch, f'devices{devices}.json')
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([binary, 'summary', path, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = json.loads(done.stdout)['incomplete'] if done.returncode == 0 else [done.stderr.decode()]
        return said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    few, few_s = trace(2500)
    many, many_s = trace(20000)
    wrong = [] if any('holds 20000 devices' in t and 'first 128 only' in t for t in map(str, many)) else [f'not said: {many[:3]}']
    wrong += [] if len(many) < 10 else [f'{len(many)} sentences']
    # Eight times the devices and events: sixty times the cost where each is laid over all of them.
    return wrong + ([] if many_s < 24 * max(few_s, 0.02) else [f'{many_s:.2f} s for {few_s:.2f}'])


def nested_calls(binary, scratch):
    """A call costs the same however many calls lie around it, none of which is the operation that launched it."""
    def cost_s(calls):
        events = [{'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 1, 'ts': i, 'dur': 2 * calls - 2 * i,
                   'args': {'correlation': i + 1}} for i in range(calls)]
        events.append({'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, 'tid': 7, 'ts': calls, 'dur': 8, 'args': {'device': 0, 'stream': 7, 'correlation': 1}})
        path = os.path.join(scratch, f'calls{calls}.json')
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([binary, 'tool', 'trace_viewer', path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wrong.extend([] if done.returncode == 0 else [f'{calls}: {done.stderr.decode()}'])
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    wrong = []
    few_s, many_s = cost_s(20000), cost_s(160000)
    # Eight times the calls: over forty times the cost where each looks at all around it.
    return wrong + ([] if many_s < 24 * max(few_s, 0.02) else [f'{many_s:.2f} s for {few_s:.2f}'])


def reads_on_a_cpu(binary, scratch):
    """To read a tensor waits for a GPU. Without one it is work; where the machine has one, it may have worked without being recorded."""
    wrong = []
    for gpus in (0, 1):
        events = [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{n}', 'pid': 1, 'tid': 1, 'ts': 100 * n, 'dur': 100}
                  for n in range(5)]
        for n in range(5):
            events += [{'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': 1, 'tid': 1, 'ts': 100 * n + at, 'dur': dur, 'args': {'External id': 1}}
                       for name, at, dur in (('aten::mm', 1, 30), ('aten::item', 35, 60), ('aten::_local_scalar_dense', 36, 58))]
        path = os.path.join(scratch, 'item.json')
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'GPU'}] * gpus, 'traceEvents': events}, f)
        said = subprocess.run([binary, 'summary', path], stdout=subprocess.PIPE).stdout.decode()
        wrong += [] if ('waits for results' in said) == bool(gpus) else [f'{gpus} GPUs: {said}']
    return wrong


def habits(binary, scratch):
    """What a program does already is not advised: torch.compile, workers of the DataLoader."""
    wrong = []
    cases = (('Optimizer.step#SGD.step', 'Use torch.compile', 'Compile more of the step'),
             ('Torch-Compiled Region: 0/0', 'Compile more of the step', 'Use torch.compile'),
             ('enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', 'num_workers above 0', 'more workers'),
             ('enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__', 'more workers', 'num_workers above 0'))
    for name, advice, none in cases:
        events = []
        for n in range(5):
            events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{n}', 'pid': 1, 'tid': 1, 'ts': 100 * n, 'dur': 100},
                       {'ph': 'X', 'cat': 'user_annotation', 'name': name, 'pid': 1, 'tid': 1, 'ts': 100 * n + 1, 'dur': 60},
                       {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': 100 * n + 70, 'dur': 25}]
        path = os.path.join(scratch, 'habits.json')
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
        said = subprocess.run([binary, 'summary', path], stdout=subprocess.PIPE).stdout.decode()
        wrong += [] if advice in said and none not in said else [f'{name}: {said}']
    return wrong


def recompiled(binary, scratch):
    """What torch.compile compiles again: from which shapes to which; those that it leaves open are no shape []."""
    def event(cat, name, ts, dur, **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'pid': 1, 'tid': 1, 'ts': ts, 'dur': dur, 'args': args}

    path, wrong = os.path.join(scratch, 'recompiled.json'), []
    known, other, dynamic = ([[32, 8], [8, 8], []], ['float', 'float', '']), ([[40, 8], [8, 8], []], ['float', 'float', '']), ([[], [8, 8], []], ['', 'float', ''])
    for shapes, says in (((known, other), 'from [[32,8],[8,8],[]] to [[40,8],[8,8],[]]'), ((known, dynamic), 'from [[32,8],[8,8],[]] to dynamic ones'),
                         ((dynamic, known), 'from dynamic ones to [[32,8],[8,8],[]]')):
        events = []
        for i in range(6):
            at, (dims, types) = 10000 * i, shapes[i % 2]
            events += [event('user_annotation', f'ProfilerStep#{i}', at, 9000),
                       event('user_annotation', f'entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/{i}', at + 5, 1),
                       event('cpu_op', '_compile.compile_inner (dynamo_timed)', at + 10, 8000), event('cpu_op', 'bytecode_tracing (dynamo_timed)', at + 20, 7000),
                       event('cpu_op', 'aten::linear', at + 30, 10, **{'External id': i + 1, 'Input Dims': dims, 'Input type': types})]
        for gave_up in (False, True):
            if gave_up:     # an attempt at one version more than torch.compile allows traces nothing
                events += [event('user_annotation', 'entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/6', 59005, 1),
                           event('cpu_op', '_compile.compile_inner (dynamo_timed)', 59010, 20)]
            with open(path, 'w') as f:
                json.dump({'schemaVersion': 1, 'record_shapes': 1, 'traceEvents': events}, f)
            said = subprocess.run([binary, 'summary', path], stdout=subprocess.PIPE).stdout.decode()
            good = f'the shapes of the arguments of aten::linear {says}' in said and '(its last version is 5) 6 times' in said
            wrong += [] if good and gave_up == ('recompile_limit' in said) else [f'{says}, gave up {gave_up}: {said}']
    return wrong


def periodic(binary, scratch):
    """Every third step is slow: more than a third of eight, and no chance, and what runs in those alone is named. Three at other places are chance."""
    wrong, path = [], os.path.join(scratch, 'periodic.json')
    cases = ({0, 3, 6}, 'steps 0, 3 and 6 (every 3rd)'), ({1, 4, 7}, 'steps 1, 4 and 7 (every 3rd)'), ({0, 3, 5}, None), ({0, 2, 4, 6}, None)
    for slow, says in cases:
        events, at = [], 0
        for n in range(8):
            dur = 40000 if n in slow else 10000 + 300 * n
            events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{n}', 'pid': 1, 'tid': 1, 'ts': at, 'dur': dur},
                       {'ph': 'X', 'cat': 'user_annotation', 'name': 'forward', 'pid': 1, 'tid': 1, 'ts': at + 1, 'dur': 9000},
                       {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': at + 10, 'dur': 8000}]
            if n in slow:
                events += [{'ph': 'X', 'cat': 'user_annotation', 'name': 'evaluate', 'pid': 1, 'tid': 1, 'ts': at + 10000, 'dur': 28000},
                           {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': at + 10010, 'dur': 27000}]
            at += dur + 10
        with open(path, 'w') as f:
            json.dump({'schemaVersion': 1, 'traceEvents': events}, f)
        said = subprocess.run([binary, 'summary', path], stdout=subprocess.PIPE).stdout.decode()
        good = '3 of 8 steps take far longer' in said and f'{says}; the time goes to compute: aten::mm; evaluate runs in these steps alone, for 28.00 ms each.' in said \
            and 'Do the extra work of these steps less often' in said if says else 'far longer' not in said
        wrong += [] if good else [f'{sorted(slow)}: {said}']
    return wrong


def folded(binary, scratch):
    """The tree of modules as stacks: what all of them have of their own is what the roots come to."""
    path = os.path.join(DATA, 'cpu_lstm.pt.trace.json.gz')
    answer, why = ask(binary, {'tool': 'modules'}, path)
    if not answer:
        return [why]
    wrong = []
    for column in ('cpu_total_us', 'cpu_self_us'):
        lines = subprocess.run([binary, 'tool', 'modules', path, '--format', 'folded', '--column', column], stdout=subprocess.PIPE)
        found = {tuple(x.rsplit(' ', 1)[0].split(';')): int(x.rsplit(' ', 1)[1]) for x in lines.stdout.decode().splitlines()}
        want = rows({'table': 'modules', 'key': ['module'], 'cols': ['cpu_self_us']}, answer)
        want = {tuple(k[0].split('/')): round(v[0] * 1000) for k, v in want.items()}
        wrong += [] if found == want else [f'{column}: {found}, not {want}']
    no = subprocess.run([binary, 'tool', 'operators', path, '--format', 'folded'], stderr=subprocess.PIPE)
    return wrong + ([] if no.returncode == 1 and b'is not a tree' in no.stderr else [f'operators: {no.returncode} {no.stderr}'])


def whole_names(binary, scratch):
    """An operator's name is one frame, whatever is in it; one event without a duration is one."""
    path, name = os.path.join(scratch, 'names.json'), '<b>x</b>/y:z'
    op = {'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': 1, 'tid': 1, 'ts': 10, 'dur': 40, 'args': {'External id': 1}}
    call = {'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 1, 'ts': 20, 'dur': 5, 'args': {'External id': 1, 'correlation': 7}}
    kernel = {'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, 'tid': 7, 'ts': 60, 'dur': 30,
              'args': {'External id': 1, 'correlation': 7, 'device': 0, 'stream': 7}}
    endless = {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::open', 'pid': 1, 'tid': 1, 'ts': 90, 'args': {'External id': 2}}
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'GPU'}], 'traceEvents': [op, call, kernel, endless]}, f)
    lines = subprocess.run([binary, 'export', path, '--to', 'folded'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wrong = [] if f';{name};k 30000' in lines.stdout.decode() else [f'folded: {lines.stdout.decode()}']
    answer, why = ask(binary, {'tool': 'flame_graph'}, path)
    names = [r for c, d in zip(answer['tables'][0]['cols'], answer['tables'][0]['data']) if c['id'] == 'name' for r in d] if answer else [why]
    wrong += [] if name in names and 'y' not in names else [f'flame_graph: {names}']
    said = subprocess.run([binary, 'doctor', path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
    return wrong + ([] if '1 event of the trace has no duration; it is shown' in ' '.join(said.split()) else [f'doctor: {said}'])


def of_no_operator(binary, scratch):
    """Work that no operator started counts in the whole, and a note says how much it is."""
    path = os.path.join(scratch, 'graph.json')
    events = [{'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': 10, 'dur': 40, 'args': {'External id': 1}},
              {'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 1, 'ts': 20, 'dur': 5, 'args': {'External id': 1, 'correlation': 7}},
              {'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaGraphLaunch', 'pid': 1, 'tid': 1, 'ts': 60, 'dur': 5, 'args': {'correlation': 8}}]
    events += [{'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, 'tid': 7, 'ts': ts, 'dur': dur, 'args': {'correlation': c, 'device': 0, 'stream': 7}}
               for ts, dur, c in ((30, 10, 7), (70, 90, 8))]
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'GPU'}], 'traceEvents': events}, f)
    answer, why = ask(binary, {'tool': 'operators'}, path)
    said = json.dumps(answer) if answer else why
    return [] if '10 us of 100 us (10.0%)' in said and "90 us of 100 us (90.0%) of the devices' work belongs to no operator" in said else [said]


def hostile_pickle(binary, scratch):
    """A snapshot that would run a command if Python loaded it: nothing runs, the opcode is named."""
    path, mark = os.path.join(scratch, 'evil.pickle'), os.path.join(scratch, 'ran')
    with open(path, 'wb') as f:
        f.write(b'\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_tracescposix\nsystem\n(\x8c' + bytes([len(mark) + 6]) + b'touch ' +
                mark.encode() + b'tRu.')
    done = subprocess.run([binary, 'summary', path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    answer, why = ask(binary, {'tool': 'memory_snapshot'}, path)
    said = done.stdout + why + ' '.join(n['text'] for n in (answer or {}).get('notes', []))
    return ([f'it ran: {said}'] if os.path.exists(mark) else []) + ([] if 'GLOBAL' in said else [f'the opcode is not named: {said}'])


def spans(binary, scratch):
    """Two recordings of a worker are two runs, of which the newest answers, whatever the files are called and when they were copied."""
    folder = os.path.join(scratch, 'spans')
    os.makedirs(folder)
    for span, n in ((1790000060123, 9), (1790000000123, 3)):
        with open(os.path.join(folder, f'node0_77.{span}.pt.trace.json'), 'w') as f:
            json.dump({'traceEvents': [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{n}', 'pid': 1, 'tid': 1, 'ts': 1,
                                        'dur': 5, 'args': {'External id': 1}}]}, f)
    answer, why = ask(binary, {'tool': 'step_breakdown'}, folder)
    if not answer:
        return [why]
    found = rows({'table': 'steps', 'key': ['step'], 'cols': ['step_us']}, answer)
    listed = subprocess.run([binary, 'runs', folder], stdout=subprocess.PIPE).stdout.decode()
    return ([] if found == {(9,): [5]} else [f'steps: {found}']) + ([] if 'spans.1790000000123' in listed else [f'runs: {listed}'])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    binary = os.path.abspath(parser.parse_args().bin)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in sorted(os.listdir(os.path.join(HERE, 'expected'))):
            with open(os.path.join(HERE, 'expected', name)) as f:
                expected = json.load(f)
            path = os.path.join(DATA, expected['path'])
            cases = [(expected['path'], path)]
            if name == 'mi250_toy.json':
                cases += [(f'{expected["path"]} ({n})', p) for n, p in odd_forms(path, scratch)]
            for label, at in cases:
                for block in expected['blocks']:
                    answer, why = ask(binary, block, at)
                    wrong = differences(block, answer) if answer else [why]
                    passed += not wrong
                    failed += bool(wrong)
                    for line in wrong[:5]:
                        print(f'{label}: {block["tool"]} {block["table"]}: {line}')
        for check in (bad_input, held, names, waits_for_input, waits_for_collectives, waits_in_a_copy, random_forms, torch_xla, clocks, long_text, reads_on_a_cpu, many_devices, nested_calls, memory_of_operators, profiler_itself, words_of_pytorch, same_ids, recording_itself, empty_recording, gloo_ranks, ranks_late_in_turn, devices_of_a_snapshot, gloo_late_rank, repeated_steps, repeated_over_ranks, same_figures, habits, recompiled, periodic, folded, whole_names, of_no_operator, hostile_pickle, spans):
            wrong = check(binary, scratch)
            passed += not wrong
            failed += bool(wrong)
            for line in wrong:
                print(f'{check.__name__}: {line}')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    raise SystemExit(main())
