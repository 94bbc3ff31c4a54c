"""Profiles of TPU v6e and v7x with hardware counters, at random: some or all of those that are known, zeros, doubles, repeated and unknown ones.

    counters.py SEED FOLDER     write the file
"""
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import xspace
from jobs import US, Plane, U

KNOWN = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'src', 'model', 'counters', 'tpu_counters.def')
CHIPS = {'V6E': 'TPU v6 Lite', 'V7X': 'TPU v7x'}


def registers(chip):
    """Ids of the chip's known counters, from the table that the program has of them."""
    with open(KNOWN) as f:
        text = f.read()
    units = {}
    for c, kind, *numbers in re.findall(r'^UNIT\((\w+), (\w+),\s+(\w+), (\w+), (\w+), (\w+), (\w+), (\w+), (\w+)\)', text, re.M):
        if c == chip:
            base, dies, die, groups, group, members, member = (int(n, 0) for n in numbers)
            units[kind] = [base + a * die + b * group + m * member for a in range(dies) for b in range(groups) for m in range(members)]
    out = []
    for kind, copies, v6e, v7x in re.findall(r'^COUNTER\((\w+), \w+, (\d+), (\w+), (\w+),', text, re.M):
        offset = v6e if chip == 'V6E' else v7x
        if offset != 'NO':
            out += [at + int(offset, 0) + 8 * k for at in units.get(kind, ()) for k in range(int(copies))]
    return out


def value(rnd):
    kind = rnd.random()
    if kind < 0.1:
        return U(0)
    if kind < 0.8:
        return U(rnd.randrange(1 << rnd.randrange(1, 45)))
    return rnd.randrange(1 << 30)


def line(rnd, plane, ident, ids):
    events = []
    for k, register in enumerate(ids):
        stats = {'counter_value': value(rnd), 'performance_counter_description': f'what {k} counts'}
        if rnd.random() < 0.95:
            stats['performance_counter_id'] = rnd.choice((U, int))(register)
        if rnd.random() < 0.5:
            stats['performance_counter_sets'] = rnd.choice(('set0', 'a b', ''))
        events.append((plane.meta(f'Register_{register:x}'), 0, rnd.choice((0, 0, 0, 5 * US)) if k == 0 else 0, stats))
    plane.line(ident, rnd.choice(('_counters_', 'counters', 'kernel_a', '')), 5000, events)


def files(seed):
    """[(file name, bytes)] of one host."""
    rnd = random.Random(seed)
    chip = rnd.choice(list(CHIPS))
    ids, planes = registers(chip), []
    for number in range(rnd.randrange(1, 4)):
        plane = Plane(f'/device:TPU:{number}', 2 + number)
        own = {'device_type_string': CHIPS[chip] if rnd.random() < 0.95 else 'TPU v5', 'device_id': number, 'global_chip_id': 10 + number}
        if rnd.random() < 0.2:
            del own[rnd.choice(list(own))]
        plane.own = [plane.stat(k, v) for k, v in own.items()]
        if rnd.random() < 0.5:
            dur = rnd.randrange(1, 90 * US)
            plane.line(3, 'XLA Ops', 0, [(plane.meta(f'%f.{k} = f32[] f()', f'f.{k}'), 100 * US + k * dur, dur, {}) for k in range(2)])
        for k in range(rnd.randrange(0, 4)):
            some = ids if rnd.random() < 0.5 else rnd.sample(ids, rnd.randrange(1, len(ids)))
            some = some + rnd.choices(some, k=rnd.choice((0, 0, 3))) + ([12345] if rnd.random() < 0.2 else [])
            line(rnd, plane, 9 + k, some)
        planes.append(plane.fields())
    return [('host0.xplane.pb', xspace.serialize(planes + [[4, 2, b'host0']]))]


def main():
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, data in files(sys.argv[1]):
        with open(os.path.join(sys.argv[2], name), 'wb') as f:
            f.write(data)


if __name__ == '__main__':
    main()
