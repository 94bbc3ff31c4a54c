#!/usr/bin/env python3
"""A large timeline with flows, in several windows at several resolutions: stepscope must draw the very events that XProf 2.24.2 draws.

More than 500,000 events, from where on XProf leaves events out; nested four deep on two threads, with 10,000 flows between them.
"""
import bisect
import collections
import json
import os
import random
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_xprof
import serving
from xspace import field, varint

EVENTS = 270000             # a thread
WINDOWS = [                 # start and end in ms (0, 0: everything), points across
    (0, 0, 8000), (0, 0, 1000), (0, 0, 100), (5, 6, 1000), (5, 6, 8000), (10.2, 10.2015, 2000), (0, 10, 8000), (11.5, 11.6, 0),
]
OUT, MID, IN = 2, 3, 1      # the two low bits of a flow


def nested(rng, begin, end, depth, out):
    """
    Spans inside [begin, end), four deep, of sizes over many orders of magnitude. No two begin and end together: in which order XProf takes
    such twins depends on the state of a heap.
    """
    at = begin
    while at < end and len(out) < EVENTS:
        dur = min(int(10 ** rng.uniform(2, 9 - 1.3 * depth)), end - at)
        if dur <= 0:
            break
        out.append([at, dur, 0])
        if depth < 3 and rng.random() < 0.5:
            nested(rng, at + 1, at + dur, depth + 1, out)
        at += dur + int(10 ** rng.uniform(1, 7 - depth))


def tie(rng, senders, receivers):
    """Flows from events of one thread to later ones of the other, a third of them over a third event."""
    begins = [e[0] for e in receivers]
    for number, e in enumerate(rng.sample(senders, 30000), 1):
        k = bisect.bisect_left(begins, e[0] + e[1]) + rng.randrange(50)
        if e[2] or k >= len(receivers) or receivers[k][2]:
            continue
        e[2], receivers[k][2] = number << 2 | OUT, number << 2 | IN
        mid = rng.choice(senders)
        if rng.random() < 0.3 and not mid[2] and e[0] < mid[0] < receivers[k][0]:
            mid[2] = number << 2 | MID


def profile(seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(2):
        events = []
        nested(rng, 0, 10 ** 13, 0, events)
        lines.append(sorted(events, key=lambda e: (e[0], -e[1])))
    tie(rng, *lines)
    plane = [field(2, b'/host:CPU')]
    for tid, events in enumerate(lines, 1):
        line = [field(1, tid), field(2, b'thread'), field(3, 1000)]
        for i, (begin, dur, flow) in enumerate(events):
            stat = field(4, field(1, 1) + field(3, flow)) if flow else b''
            line.append(field(4, field(1, 1 + i % 3) + field(2, begin) + field(3, dur) + stat))
        plane.append(field(3, b''.join(line)))
    for i in (1, 2, 3):
        plane.append(field(4, field(1, i) + field(2, field(1, i) + field(2, b'name %d' % i))))
    plane.append(field(5, field(1, 1) + field(2, field(1, 1) + field(2, b'flow'))))
    return field(1, b''.join(plane)) + field(4, b'h')


def options(start, end, resolution):
    window = {'start_time_ms': str(start), 'end_time_ms': str(end)} if end else {}
    return {'resolution': str(resolution), **window}


def drawn(reply):
    """Events as drawn, with multiplicity; flows by direction, since their numbers are free."""
    return collections.Counter(
        (e['pid'], e['tid'], e['name'], round(e['ts'] * 1e6), round(e['dur'] * 1e6), e.get('flow_in'), e.get('flow_out'))
        for e in reply['traceEvents'] if e['ph'] == 'X')


def details(theirs, ours, rng):
    """Parameters by which each side's page asks for one event, for some events that both have drawn: (theirs, ours)."""
    number = {(e['tid'], e['ts'], e['dur']): e['args']['uid'] for e in ours['traceEvents'] if e['ph'] == 'X'}
    both = [e for e in theirs['traceEvents'] if e['ph'] == 'X' and (e['tid'], e['ts'], e['dur']) in number]
    for e in rng.sample(both, min(6, len(both))):
        params = {'event_name': e['name'], 'start_time_ms': repr(e['ts'] / 1e3), 'duration_ms': repr(e['dur'] / 1e3)}
        yield ({**params, 'unique_id': str(e['args']['uid'])},
               {**params, 'unique_id': str(number[e['tid'], e['ts'], e['dur']])})


def ask_ours(server, run, params):
    status, body = server.get(serving.DATA, {'run': run, 'tag': 'trace_viewer@', 'host': 'h', **params})
    return json.loads(body) if status == 200 else {'traceEvents': [], 'status': status}


def compare(label, want, got):
    missing, extra = want - got, got - want
    good = want.total() > 0 and not missing and not extra
    print(f'{label}: {want.total()} events' + ('' if good else f', {missing.total()} missing, {extra.total()} too many'))
    for e in [*list(missing)[:2], *list(extra)[:2]]:
        print('   ', e)
    return good


def main():
    with tempfile.TemporaryDirectory() as scratch:
        logdir = against_xprof.layout(scratch, 'timeline', [('h.xplane.pb', profile(int(os.environ.get('SEED', '11'))))])
        run, folder, _ = against_xprof.run_folder(logdir)
        copy = os.path.join(scratch, 'copy')
        shutil.copytree(folder, copy)

        def ask_theirs(todo):
            replies = against_xprof.ask_xprof([
                {'id': label, 'files': [os.path.join(copy, 'h.xplane.pb')], 'tool': 'trace_viewer@',
                 'params': {'hosts': ['h'], 'use_saved_result': True, 'trace_viewer_options': params}}
                for label, params in todo.items()])
            return {label: json.loads(replies[label]['answer'] or '{"traceEvents":[]}') for label in todo}

        todo = {f'{start} to {end} ms at {res}': options(start, end, res) for start, end, res in WINDOWS}
        with serving.Server(f'{against_xprof.BIN} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
            theirs = ask_theirs(todo)
            ours = {label: ask_ours(server, run, params) for label, params in todo.items()}
            results = [compare(label, drawn(theirs[label]), drawn(ours[label])) for label in todo]
            some = '5 to 6 ms at 1000'
            pairs = list(details(theirs[some], ours[some], random.Random(2)))
            answers = ask_theirs({f'detail {i}': params for i, (params, _) in enumerate(pairs)})
            results += [compare(label, drawn(answers[label]), drawn(ask_ours(server, run, params)))
                        for label, (_, params) in zip(answers, pairs)]
    print(f'{sum(results)} passed, {len(results) - sum(results)} failed')
    return 0 if all(results) and len(results) > len(WINDOWS) else 1


if __name__ == '__main__':
    sys.exit(main())
