"""Make new profiles out of a sample: same kind of program, other numbers.

Answers stored for the samples could be met by fitting them. A variation has no stored answer: XProf itself is asked. Everything is drawn
from a seed, so a failure can be repeated.
"""
import copy
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import xspace

PLANE, LINE, EVENT = 1, 3, 4
NAME = 2
EVENT_DURATION_PS, EVENT_OFFSET_PS = 3, 2


def planes(space):
    return xspace.get_all(space, PLANE)


def lines(space):
    return [line for plane in planes(space) for line in xspace.get_all(plane, LINE)]


def is_device(plane):
    return xspace.text(plane, NAME).startswith('/device:')


def shrink_leaves(space, rnd):
    """On some lines the events that hold no others get shorter. Begins stay, and so does the nesting."""
    for line in lines(space):
        if rnd.random() >= 0.4:
            continue
        share = rnd.uniform(0.3, 0.95)
        events = xspace.get_all(line, EVENT)
        begins = [xspace.signed(xspace.get(e, EVENT_OFFSET_PS, 0)) for e in events]
        for event, begin, following in zip(events, begins, begins[1:] + [1 << 63]):
            duration = xspace.get(event, EVENT_DURATION_PS)
            if duration and following >= begin + duration:
                xspace.put(event, EVENT_DURATION_PS, max(1, int(duration * share)))


def drop_events(space, rnd):
    for line in lines(space):
        share = rnd.choice((0.0, 0.0, 0.05, 0.3))
        line[:] = [f for f in line if f[0] != EVENT or rnd.random() >= share]


def keep_a_part(space, rnd):
    """What a shorter capture would have seen: the events that begin before some moment."""
    ends = [xspace.get(e, EVENT_OFFSET_PS, 0) for line in lines(space) for e in xspace.get_all(line, EVENT)]
    limit = max((xspace.signed(e) for e in ends), default=0) * rnd.uniform(0.5, 0.9)
    for line in lines(space):
        line[:] = [f for f in line if f[0] != EVENT or xspace.signed(xspace.get(f[2], EVENT_OFFSET_PS, 0)) <= limit]


def drop_a_line(space, rnd):
    owners = [p for p in planes(space) if len(xspace.get_all(p, LINE)) > 1]
    if owners:
        plane = rnd.choice(owners)
        at = rnd.choice([i for i, f in enumerate(plane) if f[0] == LINE])
        del plane[at]


def add_a_device(space, rnd):
    """One more device that did the same."""
    devices = [p for p in planes(space) if is_device(p) and re.search(r':\d+$', xspace.text(p, NAME))]
    if not devices:
        return
    last = max(devices, key=lambda p: int(xspace.text(p, NAME).rsplit(':', 1)[1]))
    twin = copy.deepcopy(last)
    stem, number = xspace.text(last, NAME).rsplit(':', 1)
    xspace.put(twin, NAME, f'{stem}:{int(number) + 1}'.encode())
    xspace.put(twin, 1, max(xspace.get(p, 1, 0) for p in planes(space)) + 1)
    shrink_leaves([[PLANE, 2, twin]], rnd)
    space.append([PLANE, 2, twin])


CHANGES = (shrink_leaves, drop_events, keep_a_part, drop_a_line, add_a_device)


def vary(data, seed):
    """(bytes, names of the two changes made)."""
    rnd = random.Random(seed)
    space = xspace.parse(data)
    chosen = rnd.sample(CHANGES, 2)
    for change in chosen:
        change(space, rnd)
    return xspace.serialize(space), [c.__name__ for c in chosen]
