#!/usr/bin/env python3
"""Every event after preprocessing, in stepscope and in XProf 2.24.2: groups, derived lines, flows, added stats, one by one.

    preprocess_live.py [--python PYTHON] [--dump PROGRAM] [--show N] [--invent N] [PROFILE...]

PYTHON has xprof installed; PROGRAM is build/tests/dump_events. Without profiles: the samples, their variations, and
--invent profiles (200) with random ties and markers (invent.py). SEED in the environment chooses others.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import invent
import profiles
import vary
import xspace
from against_xprof import XPROF

ROOT = os.path.dirname(os.path.dirname(HERE))
DERIVED = 0xdeadbeef
SHOWN_STATS = ('step_name', 'step_idle_time_ps', 'num_launches', 'max_launch_time_us', 'avg_launch_time_us')
OFFLOAD_STATS = ('raw_bytes_accessed', 'shape_with_layout')


def stat_value(stat, names):
    for number, wire, value in stat:
        if number == 2:
            return xspace.double(value)
        if number == 3:
            return value
        if number == 4:
            return xspace.signed(value)
        if number == 5:
            return value.decode('utf-8', 'replace')
        if number == 6:
            return value
        if number == 7:
            return names.get(value, '')
    return None


class Event:
    __slots__ = ('begin', 'dur', 'name', 'display', 'group', 'eager', 'dev', 'flow', 'added')

    def key(self):
        return self.begin, -self.dur, self.name



def line_key(ident, name):
    return ident % (1 << 32) if (ident % (1 << 32)) - DERIVED < 10000 and (ident % (1 << 32)) >= DERIVED else ident, name


def read_xprof(data):
    """{plane: {(line id, name): [Event]}}, display ids by the same keys."""
    planes, display = {}, {}
    for plane in xspace.get_all(xspace.parse(data), 1):
        name = xspace.text(plane, 2)
        metas = {}
        for entry in xspace.get_all(plane, 4):
            meta = xspace.get(entry, 2, [])
            metas[xspace.get(entry, 1, 0)] = xspace.text(meta, 2), xspace.text(meta, 4)
        stats = {xspace.get(e, 1, 0): xspace.text(xspace.get(e, 2, []), 2) for e in xspace.get_all(plane, 5)}
        lines = planes.setdefault(name, {})
        for line in xspace.get_all(plane, 3):
            key = line_key(xspace.signed(xspace.get(line, 1, 0)), xspace.text(line, 2))
            start = xspace.signed(xspace.get(line, 3, 0)) * 1000
            display[name, key] = xspace.signed(xspace.get(line, 10, 0)), xspace.text(line, 11)
            lines.setdefault(key, []).extend(xprof_event(e, start, metas, stats) for e in xspace.get_all(line, 4))
    return planes, display


def xprof_event(fields, start, metas, stats):
    e = Event()
    e.begin = start + xspace.signed(xspace.get(fields, 2, 0))
    e.dur = xspace.signed(xspace.get(fields, 3, 0))
    e.name, e.display = metas.get(xspace.get(fields, 1, 0), ('', ''))
    values = {}
    for stat in xspace.get_all(fields, 4):
        name = stats.get(xspace.get(stat, 1, 0), '')
        values[name] = stat_value(stat, stats)        # the last counts where XProf adds one twice
    e.group = values.get('group_id', -1)
    e.eager = values.get('is_eager', -1)
    e.dev = values.get('device_offset_ps'), values.get('device_duration_ps')
    flow = values.get('flow')
    e.flow = (flow & 3, flow >> 58, flow >> 2 & (1 << 56) - 1) if flow is not None else None
    shown = SHOWN_STATS + OFFLOAD_STATS if e.display.startswith('offload-') else SHOWN_STATS
    e.added = {k: values[k] for k in shown if k in values}
    return e


def read_dump(lines):
    planes, display, current = {}, {}, None
    for row in lines:
        if row[0] == 'plane':
            plane = planes.setdefault(row[1], {})
            name = row[1]
        elif row[0] == 'line':
            key = line_key(row[1], row[3])
            display[name, key] = row[2], row[4]
            current = plane.setdefault(key, [])
        elif row[0] == 'event':
            e = Event()
            _, e.begin, e.dur, e.name, e.display, e.group, e.eager, begin, dur, e.flow, e.added = row
            e.dev = (begin, dur) if begin >= 0 else None
            e.flow = tuple(e.flow) if e.flow else None
            current.append(e)
    return planes, display


def same_partition(pairs):
    """Do two lists of flow ids fall into the same classes?"""
    there, back = {}, {}
    return all(there.setdefault(a, b) == b and back.setdefault(b, a) == a for a, b in pairs)


class Result:
    def __init__(self, show):
        self.same = self.different = 0
        self.show, self.shown = show, 0

    def differ(self, text):
        self.different += 1
        self.shown += 1
        if self.shown <= self.show:
            print('  ' + text)


def compare_line(result, where, ref, got, flows):
    # A thread pool's region that ends before it begins: here it has length 0
    for e in ref:
        e.dur = max(0, e.dur)
    ref, got = sorted(ref, key=Event.key), sorted(got, key=Event.key)
    if len(ref) != len(got):
        result.differ(f'{where}: {len(ref)} events in XProf, {len(got)} here')
    # Events that are alike in time and name are compared as a set
    unmatched = {}
    for e in got:
        unmatched.setdefault(e.key(), []).append(e)
    for e in ref:
        candidates = unmatched.get(e.key(), [])
        match = None
        for i, c in enumerate(candidates):
            if facts(c, e) == facts(e, e):
                match = candidates.pop(i)
                break
        if match is None:
            mine = facts(candidates.pop(0), e) if candidates else None
            result.differ(f'{where}:\n      XProf {facts(e, e)}\n      here  {mine}')
            continue
        result.same += 1
        if e.flow and match.flow and e.flow[:2] == match.flow[:2]:
            flows.append((e.flow[1:], match.flow[1:]))


def facts(e, ref):
    """What is compared; device spans only where preprocessing here changed them, for the stat itself stays as it was."""
    flow = e.flow[:2] if e.flow else None
    added = dict(e.added)
    if e is not ref:
        dev = ref.dev if e.dev is None or e.dev == ref.dev else e.dev
        added = {**{k: v for k, v in ref.added.items() if k not in added and k in ('step_idle_time_ps', 'step_name')}, **added}
    else:
        dev = e.dev
    return (e.begin, e.dur, e.name, e.display, e.group, e.eager, dev, flow, tuple(sorted(added.items())))


def compare(result, label, ref, ref_display, got, got_display):
    flows = []
    for plane in ref:
        if plane not in got:
            if any(ref[plane].values()):
                result.differ(f'{label} {plane}: missing here')
            continue
        for key in {**ref[plane], **got[plane]}:
            where = f'{label} {plane} {key}'
            a, b = ref[plane].get(key, []), got[plane].get(key, [])
            compare_line(result, where, a, b, flows)
            if a and b and ref_display[plane, key] != got_display[plane, key]:
                result.differ(f'{where}: display {ref_display[plane, key]} in XProf, {got_display[plane, key]} here')
    if not same_partition(flows):
        result.differ(f'{label}: flows are tied otherwise')


def ask_xprof(python, files, scratch):
    """[output path or None]; XProf is started again after a profile that brought it down."""
    outputs = [os.path.join(scratch, f'out{i}.pb') for i in range(len(files))]
    todo = list(zip(files, outputs))
    while todo:
        request = os.path.join(scratch, 'todo')
        with open(request, 'w') as f:
            json.dump(todo, f)
        subprocess.run([python, os.path.join(HERE, 'xprof_preprocessed.py'), request],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900, check=False)
        left = [t for t in todo if not os.path.exists(t[1])]
        todo = left[1:]                 # the first of them crashed it
    return [o if os.path.exists(o) and os.path.getsize(o) else None for o in outputs]


def dump(program, file):
    run = subprocess.run([program, file], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def write(scratch, label, data):
    folder = os.path.join(scratch, label)
    os.makedirs(folder)
    path = os.path.join(folder, 'host.xplane.pb')
    with open(path, 'wb') as f:
        f.write(data)
    return path


def inputs(args, scratch, seed):
    if args.profiles:
        return [(p, p) for p in args.profiles]
    out = []
    for name in profiles.names():
        for path in profiles.files(name, scratch):
            out.append((f'{name}/{os.path.basename(path)}', path))
            if profiles.is_packed(name):
                continue
            with open(path, 'rb') as f:
                data = f.read()
            for k in range(2):
                varied, _ = vary.vary(data, f'{seed}/{name}/{k}')
                label = f'{name}~{k}~{os.path.basename(path)}'
                out.append((label, write(scratch, label, varied)))
    for k in range(args.invent):
        label = f'invented-{seed}-{k}'
        out.append((label, write(scratch, label, invent.profile(f'{seed}/{k}'))))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--python', default=XPROF)
    parser.add_argument('--dump', default=os.path.join(ROOT, 'build', 'tests', 'dump_events'))
    parser.add_argument('--show', type=int, default=20)
    parser.add_argument('--invent', type=int, default=200)
    parser.add_argument('profiles', nargs='*')
    args = parser.parse_args()
    result, bad = Result(args.show), 0
    with tempfile.TemporaryDirectory() as scratch:
        cases = inputs(args, scratch, os.environ.get('SEED', '1'))
        outputs = ask_xprof(args.python, [path for _, path in cases], scratch)
        for (label, path), output in zip(cases, outputs):
            if not output:
                print(f'{label}: XProf has no answer')
                continue
            before = result.different
            with open(output, 'rb') as f:
                compare(result, label, *read_xprof(f.read()), *read_dump(dump(args.dump, path)))
            bad += result.different > before
    print(f'{result.same} events equal, {result.different} differences, in {bad} of {len(cases)} profiles')
    print(f'{len(cases) - bad} passed, {bad} failed')
    return 0 if not bad else 1


if __name__ == '__main__':
    sys.exit(main())
