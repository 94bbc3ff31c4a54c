#!/usr/bin/env python3
"""What must hold of any profile: the samples, variations of them, and profiles made up at random.

    property.py [--bin build/stepscope] [--properties build/tests/properties] [--invent N]

properties.c holds self times against the events themselves, and answers of several threads and orders of hosts against each
other. Here the answers of tools are held against themselves: parts sum up to the whole, shares above 100 % are said to be,
bytes are never negative. SEED in the environment chooses other variations.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'interop'))
import invent
import jobs
import profiles
import vary

# Tools whose answers are looked into, and all others that make tables
TOOLS = ('overview_page', 'input_pipeline_analyzer', 'framework_op_stats', 'op_profile', 'hlo_stats', 'roofline_model', 'kernel_stats',
         'memory_profile', 'memory_viewer', 'pod_viewer', 'inference_profile', 'utilization_viewer', 'megascale_stats')
WHOLE = {'percent': 100.0, 'frac': 1.0}
PARTS = ('deviceComputeTimeMs', 'deviceToDeviceTimeMs', 'deviceCollectivesTimeMs', 'hostComputeTimeMs', 'kernelLaunchTimeMs',
         'infeedTimeMs', 'outfeedTimeMs', 'compileTimeMs', 'otherTimeMs')
TPU_PARTS = ('tcComputeTimeMs', 'scv0ComputeTimeMs', 'scv0InfeedTimeMs', 'tcInfeedTimeMs', 'tcOutfeedTimeMs', 'tcIdleTimeMs')
CORE_PARTS = ('device_compute_us', 'device_to_device_us', 'collectives_us', 'host_compute_us', 'kernel_launch_us', 'input_us',
              'output_us', 'compile_us', 'other_us')
STACKED = ('stack_bytes', 'heap_bytes', 'free_bytes')


def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 1e-9


class Table:
    def __init__(self, table):
        self.name, self.nrows, self.cols = table['name'], table['nrows'], table['cols']
        self.props = table['props']
        self.data = dict(zip((c['id'] for c in self.cols), table['data']))

    def sums(self, ids):
        """Per row the sum of those of the columns that are there."""
        columns = [self.data[i] for i in ids if i in self.data]
        return [sum(v or 0 for v in row) for row in zip(*columns)] if columns else []


def excess_is_said(tool, answer, tables):
    notes = ' '.join(n['text'] for n in answer['notes'])
    for t in tables:
        for c in t.cols:
            whole = WHOLE.get(c['unit'])
            values = [v for v in t.data[c['id']] if isinstance(v, (int, float))] if whole else []
            if any(v > whole * 1.000001 for v in values) and f"'{c['label']}' is above 100" not in notes:
                yield f'{tool} {t.name} {c["id"]}: {max(values)} {c["unit"]} and not a word'
            if any(v < 0 for v in values):
                yield f'{tool} {t.name} {c["id"]}: {min(values)} {c["unit"]}'
        for name, p in t.props.items():
            whole = WHOLE.get(p['unit'])
            if whole and p['value'] is not None and p['value'] > whole * 1.000001 and f"'{p['label']}' is " not in notes:
                yield f'{tool} {t.name} {name}: {p["value"]} {p["unit"]} and not a word'


def sizes_are_not_negative(tool, tables):
    for t in tables:
        for c in t.cols:
            if c['unit'] in ('bytes', 'mib', 'gib', 'ps', 'ns', 'us', 'ms', 'flops') and 'slack' not in c['id']:
                least = min((v for v in t.data[c['id']] if v is not None), default=0)
                if least < 0:
                    yield f'{tool} {t.name} {c["id"]}: {least} {c["unit"]}'


def steps_sum_up(tool, answer, tables):
    overlong_is_said = any('parts exceed the step' in n['text'] for n in answer['notes'])
    for t in tables:
        if t.name == 'steps' and 'stepTimeMs' in t.data:
            for name, parts, whole in zip(t.data['stepnum'], t.sums(PARTS), t.data['stepTimeMs']):
                if not near(parts, whole):
                    yield f'{tool} step {name}: parts of {parts} ms in {whole} ms'
        if t.name == 'cores' and tool == 'pod_viewer':
            known = [i for i in CORE_PARTS if i in t.data]
            for core, parts, whole in zip(t.data['core_id'], t.sums(known), t.data['total_us']):
                overlong = parts > whole and overlong_is_said
                if len(known) == len(CORE_PARTS) and not near(parts, whole) and not overlong:
                    yield f'{tool} core {core}: parts of {parts} us in {whole} us'


def shares_sum_up(tool, tables):
    """Self times of all rows are the whole, once for the host and once for the device."""
    for t in tables:
        if tool == 'framework_op_stats':
            for side in ('host', 'device'):
                rows = [s for s, where in zip(t.data[f'{side}_total_self_time_percent'], t.data['host_or_device'])
                        if where.lower() == side]
                total = sum(rows)
                cut = len(rows) >= 499 and total < 1    # the table ends there
                if total and not near(total, 1) and not cut:
                    yield f'{tool} {t.name}: shares of the {side} are {total} of the whole'
        if tool == 'hlo_stats' and t.name == 'ops' and t.nrows:
            last = t.data['cumulative_total_self_time_percent'][-1]
            if last and last > 100.000001:
                yield f'{tool}: shares sum up to {last} %'


def trees_sum_up(tool, tables):
    """Time of a node covers that of the nodes below it, but for operations: what they handed over ran elsewhere."""
    for t in tables:
        if tool != 'op_profile' or not t.nrows:
            continue
        below = collections.Counter()
        for parent, time in zip(t.data['parent'], t.data['time_ps']):
            below[parent] += time
        for i, time in enumerate(t.data['time_ps']):
            if below[i] > time * 1.000001 + 1 and not t.data['is_op'][i]:
                yield f'{tool} {t.name} node {t.data["name"][i]}: {below[i]} ps below {time} ps'


def memory_adds_up(tool, tables):
    """What the allocator holds is the same at all moments where its capacity is known, and the peak is the most of all."""
    for t in tables:
        if tool == 'memory_profile' and t.name == 'timeline':
            most = collections.defaultdict(int)
            for who, stack, heap in zip(t.data['memory_id'], t.data['stack_bytes'], t.data['heap_bytes']):
                most[who] = max(most[who], stack + heap)
            peaks = next(a for a in tables if a.name == 'allocators')
            for who, peak in zip(peaks.data['memory_id'], peaks.data['peak_bytes']):
                if most[who] > peak:
                    yield f'{tool} {who}: {most[who]} bytes in use above the peak of {peak}'
        if tool == 'memory_viewer' and t.name == 'timeline' and t.nrows:
            peak = t.props['peak_heap']['value']
            if max(t.data['heap_bytes']) != peak:
                yield f'{tool}: {max(t.data["heap_bytes"])} bytes above the peak of {peak}'


def judge(tool, answer):
    tables = [Table(t) for t in answer['tables']]
    yield from excess_is_said(tool, answer, tables)
    yield from sizes_are_not_negative(tool, tables)
    yield from steps_sum_up(tool, answer, tables)
    yield from shares_sum_up(tool, tables)
    yield from trees_sum_up(tool, tables)
    yield from memory_adds_up(tool, tables)


def ask(binary, logdir, tool):
    done = subprocess.run([binary, 'tool', tool, logdir, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return None
    return json.loads(done.stdout)


def lay_out(scratch, name, files):
    folder = os.path.join(scratch, name, 'plugins', 'profile', 'run')
    os.makedirs(folder)
    for k, data in enumerate(files):
        with open(os.path.join(folder, f'host{k}.xplane.pb'), 'wb') as f:
            f.write(data)
    return os.path.join(scratch, name)


def make(scratch, invented, seed):
    """Log directories: the samples, two variations of each as two hosts of one run, profiles out of nothing, and jobs on TPUs."""
    logdirs = []
    for name in profiles.names():
        home = profiles.logdir(name, scratch)
        if not home.startswith(scratch):
            home = shutil.copytree(home, os.path.join(scratch, name))
        logdirs.append(home)
        if profiles.is_packed(name):
            continue
        with open(profiles.files(name, scratch)[0], 'rb') as f:
            data = f.read()
        logdirs.append(lay_out(scratch, name + '~', [vary.vary(data, f'{seed}/{name}/{k}')[0] for k in range(2)]))
    for k in range(invented):
        logdirs.append(lay_out(scratch, f'invented{k}', [invent.profile(f'{seed}/{k}/{h}') for h in range(1 + k % 3)]))
    for k in range(invented):
        logdirs.append(lay_out(scratch, f'job{k}', [data for _, data in jobs.files(f'{seed}/property/{k}')]))
    return logdirs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    parser.add_argument('--properties', default=os.path.join(ROOT, 'build', 'tests', 'properties'))
    parser.add_argument('--invent', type=int, default=24)
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        logdirs = make(scratch, args.invent, os.environ.get('SEED', '1'))
        done = subprocess.run([args.properties, scratch], stdout=subprocess.PIPE, text=True)
        *words, last = done.stdout.splitlines() or ['0 passed, 1 failed']
        print('\n'.join(words))
        passed, failed = int(last.split()[0]), int(last.split()[2])
        failed += bool(done.returncode) and not failed
        questions = [(d, t) for d in logdirs for t in TOOLS]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = pool.map(lambda q: ask(args.bin, *q), questions)
            for (logdir, tool), answer in zip(questions, answers):
                wrong = list(judge(tool, answer)) if answer else []
                for w in wrong[:3]:
                    print(f'{os.path.basename(logdir)}: {w}')
                passed, failed = passed + (not wrong and answer is not None), failed + bool(wrong)
    print(f'{passed} passed, {failed} failed')
    return 0 if passed and not failed else 1


if __name__ == '__main__':
    sys.exit(main())
